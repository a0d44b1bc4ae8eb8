package instrument

// A check charges for the instructions that can run before the next one: for the longest path from it. Where the path
// gets too long, or too many checks' paths come together, another check is set, so that what a check charges stays close
// to what runs: Go's functions are one loop around a jump table, of which an iteration runs a small part.
//
// Each level of loops has its own paths. A loop's check pays for the loop; what stands behind the loop is paid for by the
// checks that led to it, once.
const (
	maxPath  = 1000 // instructions, more or less, that one check charges for
	maxMeets = 4    // checks whose paths may go on together
)

// path is how many instructions can have run since a check, at some place of the function.
type path struct {
	check uint32
	cost  uint32
}

// paths are the paths that lead to a place; none: it is never reached.
type paths struct {
	n     int
	over  bool // there are more: a check must be set here
	paths [maxMeets]path
}

func (p *paths) reached() bool { return p.n > 0 || p.over }

// join adds paths that lead to the same place.
func (p *paths) join(q *paths) {
	p.over = p.over || q.over
next:
	for _, more := range q.paths[:q.n] {
		for i := range p.paths[:p.n] {
			if p.paths[i].check == more.check {
				p.paths[i].cost = max(p.paths[i].cost, more.cost)
				continue next
			}
		}
		if p.n == maxMeets {
			p.over = true
			continue
		}
		p.paths[p.n] = more
		p.n++
	}
}

func (p *paths) longest() uint32 {
	var n uint32
	for i := range p.paths[:p.n] {
		n = max(n, p.paths[i].cost)
	}
	return n
}

// flow follows the paths through a function while it is written.
type flow struct {
	now    paths
	checks []uint32    // by check: what it charges
	frames []flowFrame // the open blocks
	levels []paths     // by level of loops: what the paths around the loop were when it began
}

type flowFrame struct {
	op      byte
	level   int   // of loops around it; a loop's own counts
	label   paths // what leads to its end by branches; nothing for a loop
	atStart paths // of an if: what leads to its else
}

// reset begins a function.
func (f *flow) reset() {
	f.checks, f.levels = f.checks[:0], f.levels[:0]
	f.frames = append(f.frames[:0], flowFrame{op: opBlock})
	f.now = paths{}
}

// check sets a check here: all paths end at it, and its own begins. It returns the check.
func (f *flow) check() int {
	f.pay()
	f.checks = append(f.checks, 0)
	n := len(f.checks) - 1
	f.now = paths{n: 1, paths: [maxMeets]path{{check: uint32(n)}}}
	return n
}

// run goes over instructions that cost so much.
func (f *flow) run(cost uint32) {
	for i := range f.now.paths[:f.now.n] {
		f.now.paths[i].cost += cost
	}
}

// pay makes the checks that lead here pay for the way up to here.
func (f *flow) pay() {
	for _, p := range f.now.paths[:f.now.n] {
		f.checks[p.check] = max(f.checks[p.check], p.cost)
	}
}

// stop ends the paths: what follows is not reached from here.
func (f *flow) stop() {
	f.pay()
	f.now = paths{}
}

// branch follows a branch to a label. Those that leave loops go on with the paths from before the outermost of them.
func (f *flow) branch(label uint32) {
	i := len(f.frames) - 1 - int(label)
	to := &f.frames[i]
	switch {
	case !f.now.reached() || to.op == opLoop || i == 0:
	case to.level == len(f.levels):
		to.label.join(&f.now)
	default:
		to.label.join(&f.levels[to.level])
	}
	f.pay()
}

// open begins a block, and for an if its first half.
func (f *flow) open(op byte) {
	f.frames = append(f.frames, flowFrame{op: op, level: len(f.levels), atStart: f.now})
}

// loop begins a loop. A check must be set right behind, unless it is not reached.
func (f *flow) loop() {
	f.pay()
	f.levels = append(f.levels, f.now)
	f.frames = append(f.frames, flowFrame{op: opLoop, level: len(f.levels)})
}

// otherwise ends the first half of an if and begins the second.
func (f *flow) otherwise() {
	top := &f.frames[len(f.frames)-1]
	f.pay()
	top.label.join(&f.now)
	f.now = top.atStart
	top.op = opElse
}

// end ends a block. It reports whether a check must be set behind it.
func (f *flow) end() bool {
	top := f.frames[len(f.frames)-1]
	f.frames = f.frames[:len(f.frames)-1]
	f.pay()
	switch top.op {
	case opLoop:
		around := f.levels[len(f.levels)-1]
		f.levels = f.levels[:len(f.levels)-1]
		if f.now.reached() {
			f.now = around
		}
	case opIf: // without an else
		f.now.join(&top.atStart)
		f.now.join(&top.label)
	default:
		f.now.join(&top.label)
	}
	return f.now.over
}
