package host_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/abi"
	"github.com/jobhost/jobhost/host"
)

// awkward has what each of the forms has to escape.
const awkward = `p/ss "w+rd"&<ü>` + "\t~"

func TestSecretsReachTheGuestAndNobodyElse(t *testing.T) {
	t.Setenv("HOSTFUNCS_SECRET", awkward)
	file := filepath.Join(t.TempDir(), "key")
	write(t, file, []byte("-----BEGIN KEY-----\nfirst line of it\nsecond line\n-----END KEY-----\r\n"))
	h := caller(t, host.Defaults(), host.Grant{Secrets: map[string]host.Secret{"TOKEN": {Env: "HOSTFUNCS_SECRET"}, "PEM": {File: file}}})
	tr := &trace{}
	c := jobhost.Call{Span: tr.root()}
	got, s := makeCalls(t, h, c,
		call{F: "env", A: "TOKEN"}, call{F: "env", A: "HOSTFUNCS_SECRET"}, call{F: "log_env", A: "it is %s.", B: "TOKEN"}, call{F: "log_env", A: "%s", B: "PEM"},
		call{F: "log", A: "a line: second line"}, call{F: "progress", N: 1, A: "at " + awkward}, call{F: "stderr", A: "x " + awkward + " y\n-----BEGIN KEY-----\n"},
		call{F: "stderr", A: "first line of it\nand more\nhalf " + awkward[:5]}, call{F: "stderr", A: awkward[5:] + "\n"}, call{F: "stderr", A: "cut " + awkward[:5]},
		call{F: "span_start", A: awkward}, call{F: "span_attr", N: 1, A: "k " + awkward, B: "v " + awkward}, call{F: "event", A: awkward})
	if got[0].N != 1 || got[0].S != "***" { // the result is masked in the output, too
		t.Errorf("the guest sees %+v", got[0])
	}
	if got[1].N != 0 {
		t.Errorf("the guest sees the host's variable: %+v", got[1])
	}
	want := []string{"it is ***.", "***", "a line: ***", "x *** y", "***", "***", "and more", "half ***", "cut " + awkward[:5]}
	if diff := cmp.Diff(s.lines, want); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(s.progress, []string{"1/0 at ***"}); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(tr.events, []string{"start run/***", "run/***: k ***=v ***", "run/***: ***", "end run/*** true"}); diff != "" {
		t.Error(diff)
	}
}

func TestSecretsAreHiddenInWhatTheyAreEncodedAs(t *testing.T) {
	t.Setenv("HOSTFUNCS_SECRET", awkward)
	h := caller(t, host.Defaults(), host.Grant{Secrets: map[string]host.Secret{"TOKEN": {Env: "HOSTFUNCS_SECRET"}}})
	html, _ := json.Marshal(awkward)
	forms := map[string]string{
		"JSON": string(html), "query": url.QueryEscape(awkward), "path": url.PathEscape(awkward),
		"component":  strings.ReplaceAll(url.QueryEscape(awkward), "+", "%20"),
		"URI":        `p/ss%20%22w+rd%22&%3C%C3%BC%3E%09~`,
		"lower URI":  `p/ss%20%22w+rd%22&%3c%c3%bc%3e%09~`,
		"whole path": (&url.URL{Path: "/" + awkward}).EscapedPath()[1:],
		"ascii":      strings.ReplaceAll(strings.ReplaceAll(string(html), "ü", `\u00fc`), "/", `\/`),
	}
	for name, enc := range map[string]*base64.Encoding{"std": base64.StdEncoding, "raw": base64.RawStdEncoding, "url": base64.URLEncoding, "rawurl": base64.RawURLEncoding} {
		forms[name] = enc.EncodeToString([]byte(awkward))
		for before := range 3 {
			for after := range 3 {
				forms[fmt.Sprintf("%s, %d before and %d after", name, before, after)] = enc.EncodeToString([]byte(strings.Repeat("u", before) + awkward + strings.Repeat(":", after)))
			}
		}
	}
	for name, form := range forms {
		_, s := makeCalls(t, h, jobhost.Call{}, call{F: "log", A: "<" + form + ">"})
		// In base64 the digits that the neighbours have a part in are left, three before and four with padding after.
		inside := strings.TrimSuffix(strings.TrimPrefix(s.text(), "<"), ">")
		if rest := strings.Replace(inside, "***", "", 1); len(rest) > 9 || !strings.Contains(inside, "***") {
			t.Errorf("%s: %s is %s", name, form, s.text())
		}
	}
}

func TestSecretsAreHiddenInFailuresAndOutput(t *testing.T) {
	const long = "sesamum-indicum-is-a-flowering-plant" // longer than the mark of a cut
	t.Setenv("HOSTFUNCS_SECRET", "sesame-open")
	t.Setenv("HOSTFUNCS_LONG", long)
	h := caller(t, host.Defaults(), host.Grant{Secrets: map[string]host.Secret{"TOKEN": {Env: "HOSTFUNCS_SECRET"}, "LONG": {Env: "HOSTFUNCS_LONG"}}, MaxOutput: 2000})
	do := func(calls ...call) (jobhost.Outcome, *sink) {
		data, err := json.Marshal(map[string]any{"calls": calls, "quiet": true})
		if err != nil {
			t.Fatal(err)
		}
		return run(t, h, "calls", string(data))
	}
	out, _ := do(call{F: "fail", A: "CODE_sesame-open", B: "it was sesame-open"})
	if out.Code != "CODE_***" || out.Message != "it was ***" {
		t.Errorf("got %+v", out)
	}
	out, s := do(call{F: "panic", A: "the word sesame-open"})
	if out.Message != "panic: the word ***" && !strings.Contains(out.Message, "the word ***") || strings.Contains(s.text(), "sesame") {
		t.Errorf("got %+v, log %q", out, s.text())
	}
	out, _ = do(call{F: "stdout", A: "say ses"}, call{F: "stdout", A: "ame-op"}, call{F: "stdout", A: "en and sesame"})
	if string(out.Output) != "say *** and sesame" {
		t.Errorf("output is %q", out.Output)
	}
	for pad := range 12 { // wherever the cut in the middle falls
		out, _ = do(call{F: "stdout", A: strings.Repeat("x", pad)}, call{F: "stdout", A: "sesame-open", Grow: 1000})
		if got := string(out.Output); strings.Contains(got, "sesame") || strings.Contains(got, "open") {
			t.Errorf("output is %q", got)
		}
	}
	for pad := range len(long) { // wherever a line is cut, also to make room for the mark of the cut
		_, s = do(call{F: "log", A: strings.Repeat("x", abi.MaxLine-pad) + long}, call{F: "stderr", A: strings.Repeat("x", abi.MaxLine-pad) + long + "\n"})
		if strings.Contains(s.text(), "ses") {
			t.Errorf("%d before the limit, the log ends with %q and %q", pad, s.lines[0][abi.MaxLine-60:], s.lines[1][abi.MaxLine-60:])
		}
	}
}

func TestASecretThatIsMissingFailsTheRunAndSaysWhich(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large")
	write(t, large, make([]byte, host.MaxSecret+1))
	nul := filepath.Join(dir, "nul")
	write(t, nul, []byte("a\x00b"))
	t.Setenv("HOSTFUNCS_LARGE", strings.Repeat("x", host.MaxSecret+1))
	for secret, want := range map[host.Secret]string{
		{Env: "HOSTFUNCS_ABSENT"}:            "secret TOKEN: the host has no environment variable HOSTFUNCS_ABSENT; set it before the host starts",
		{Env: "HOSTFUNCS_LARGE"}:             "secret TOKEN: the environment variable HOSTFUNCS_LARGE has 16385 bytes, at most 16384 are allowed",
		{File: filepath.Join(dir, "absent")}: "secret TOKEN: stat " + filepath.Join(dir, "absent") + ": no such file or directory",
		{File: dir}:                          "secret TOKEN: " + dir + " is no file",
		{File: large}:                        "secret TOKEN: " + large + " has more than the 16384 bytes that a secret may have",
		{File: nul}:                          "secret TOKEN: " + nul + " has a NUL byte, which no environment variable can hold",
	} {
		h := caller(t, host.Defaults(), host.Grant{Secrets: map[string]host.Secret{"TOKEN": secret}})
		out, _ := run(t, h, "calls", "{}")
		if out.Code != jobhost.Unexpected || out.Message != want || out.Permanent {
			t.Errorf("got %+v, want %q", out, want)
		}
	}
}

func TestASecretIsReadForEachRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	h := caller(t, host.Defaults(), host.Grant{Secrets: map[string]host.Secret{"TOKEN": {File: file}}})
	for _, v := range []string{"the first one", "the second one"} {
		if err := os.WriteFile(file, []byte(v+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, s := makeCalls(t, h, jobhost.Call{}, call{F: "log", A: "the first one, the second one"}, call{F: "log_env", A: "<%s>", B: "TOKEN"})
		if diff := cmp.Diff(s.lines, []string{strings.Replace("the first one, the second one", v, "***", 1), "<***>"}); diff != "" {
			t.Error(diff)
		}
	}
}

func TestAShortSecretHidesNothing(t *testing.T) {
	t.Setenv("HOSTFUNCS_EMPTY", "")
	t.Setenv("HOSTFUNCS_SHORT", "abc")
	h := caller(t, host.Defaults(), host.Grant{Secrets: map[string]host.Secret{"EMPTY": {Env: "HOSTFUNCS_EMPTY"}, "SHORT": {Env: "HOSTFUNCS_SHORT"}}})
	got, s := makeCalls(t, h, jobhost.Call{}, call{F: "env", A: "EMPTY"}, call{F: "log", A: "abc abcd"})
	if got[0].N != 1 || s.text() != "abc abcd" {
		t.Errorf("got %v, log %q", got, s.text())
	}
}

func TestGrantsOfTheHostAreChecked(t *testing.T) {
	for want, g := range map[string]host.Grant{
		"secret A: want one of env and file":                         {Secrets: map[string]host.Secret{"A": {}}},
		"secret B: want one of env and file":                         {Secrets: map[string]host.Secret{"B": {Env: "x", File: "y"}}},
		"A is both in env and in secrets; want one of them":          {Secrets: map[string]host.Secret{"A": {Env: "x"}}, Env: map[string]string{"A": "b"}},
		"secrets sets JOBHOST_JOB, which is the host's own":          {Secrets: map[string]host.Secret{"JOBHOST_JOB": {Env: "x"}}},
		`secrets has the name "A="; want one without '=' and NUL`:    {Secrets: map[string]host.Secret{"A=": {Env: "x"}}},
		`the host "a/b" is more than a host and a port; want a form`: {HTTP: []host.HTTP{{Host: "a/b"}}},
		`clock is "fast"; want real or planned`:                      {Clock: "fast"},
	} {
		g.Job, g.Plugin = "a", "b"
		cfg := host.Defaults()
		cfg.Grants = []host.Grant{g}
		if _, err := host.New(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
