package config

// LoadJobs reads files that define jobs for a host that runs already. They have the sections jobs and vars, and no other.
// Grants are refused, since only a node's own configuration gives them. The error is [Problems] with everything that is
// wrong; the warnings are about what is allowed and looks wrong.
//
// Not checked is what only that host knows: whether plugins and calendars exist.
func LoadJobs(files ...File) (jobs []Job, warnings []Problem, err error) {
	var top table[draft]
	for _, f := range topKeys() {
		if f.name == "jobs" || f.name == "vars" {
			top = append(top, f)
		}
	}
	r := newReader(top.list(""))
	d := draft{Settings: Defaults(), at: map[string]value{}}
	d.readFiles(r, top, files)
	d.readJobs(r)
	for _, g := range d.own {
		g.at.bad("a job that is defined at run time has none; put them into the section grants of the host's own configuration")
	}
	if err := r.err(files); err != nil {
		return nil, nil, err
	}
	d.seal()
	sortProblems(r.warnings, files)
	return d.Jobs, r.warnings, nil
}
