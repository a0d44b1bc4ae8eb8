package host_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/host"
)

// takeAway takes files out of a folder.
func takeAway(t *testing.T, dir string, files ...string) {
	t.Helper()
	for _, f := range files {
		if err := os.Remove(filepath.Join(dir, f)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAFileThatIsNamedAfterItsKeyHasItBeforeAnyThatOnlyClaimsIt(t *testing.T) {
	clash := func(file string) string {
		return " " + file + ": " + file + `: its key "victim" is that of the plugin in victim.wasm already; give one of them another key`
	}
	h, dir := folder(t, map[string][]byte{
		"aaa.wasm": withSection(t, says("evil"), "victim"), "victim.wasm": says("good"), "zzz.wasm": withSection(t, says("evil"), "victim"),
	})
	wantPlugins(t, h, "aaa"+clash("aaa.wasm"), "victim victim.wasm ready", "zzz"+clash("zzz.wasm"))

	t.Run("and gets it back after it was gone for a moment", func(t *testing.T) {
		takeAway(t, dir, "victim.wasm")
		rescan(t, h)
		out, _ := run(t, h, "victim", "")
		if out.Code != jobhost.NotFoundPlugin {
			t.Errorf("while it is gone: %+v", out)
		}
		replace(t, filepath.Join(dir, "aaa.wasm"), withSection(t, says("evil2"), "victim"))
		write(t, filepath.Join(dir, "new.wasm"), withSection(t, says("evil3"), "victim"))
		rescan(t, h)
		out, _ = run(t, h, "victim", "")
		if out.Code != jobhost.NotFoundPlugin {
			t.Errorf("others have changed: %+v", out)
		}
		write(t, filepath.Join(dir, "victim.wasm"), says("good2"))
		rescan(t, h)
		wantOutput(t, h, "victim", "good2")
	})
	t.Run("and takes it from one that had it", func(t *testing.T) {
		h, dir := folder(t, map[string][]byte{"report-1.wasm": withSection(t, says("one"), "victim")})
		wantOutput(t, h, "victim", "one")
		write(t, filepath.Join(dir, "victim.wasm"), says("named"))
		rescan(t, h)
		wantOutput(t, h, "victim", "named")
		wantPlugins(t, h, "report-1"+clash("report-1.wasm"), "victim victim.wasm ready")
	})
}

func TestAKeyThatAFileHasHadGoesToNoOtherThatOnlyClaimsIt(t *testing.T) {
	h, dir := folder(t, map[string][]byte{"report-1.wasm": withSection(t, says("one"), "report")})
	write(t, filepath.Join(dir, "evil.wasm"), withSection(t, says("evil"), "report"))
	takeAway(t, dir, "report-1.wasm")
	rescan(t, h)
	const lost = `: its key "report" was that of the plugin in report-1.wasm, and goes to no other file until the host is started again; rename the file to report.wasm, or start the host again`
	wantPlugins(t, h, "evil evil.wasm: evil.wasm"+lost)
	write(t, filepath.Join(dir, "report-1.wasm"), withSection(t, says("two"), "report"))
	rescan(t, h)
	wantOutput(t, h, "report", "two")
}

func TestOfTwoFilesThatClaimOneKeyNeitherHasIt(t *testing.T) {
	h, dir := folder(t, map[string][]byte{"a.wasm": withSection(t, says("a"), "report"), "b.wasm": withSection(t, says("b"), "report")})
	const lost = `.wasm: its key "report" is claimed by another file, too; rename the right one to report.wasm`
	wantPlugins(t, h, "a a.wasm: a"+lost, "b b.wasm: b"+lost)
	takeAway(t, dir, "b.wasm")
	rescan(t, h)
	wantPlugins(t, h, "a a.wasm: a"+lost)
	if err := os.Rename(filepath.Join(dir, "a.wasm"), filepath.Join(dir, "report.wasm")); err != nil {
		t.Fatal(err)
	}
	rescan(t, h)
	wantOutput(t, h, "report", "a")
}

func TestASideFileIsReadInThePluginFolderOnly(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights there")
	}
	secret := filepath.Join(t.TempDir(), "secret")
	write(t, secret, []byte("password"))
	_, dir := folder(t, map[string][]byte{"out.wasm": says("x"), "in.wasm": says("x"), "..data": []byte("inside"), "none.wasm": says("x")})
	for link, target := range map[string]string{"out.yaml": secret, "in.yaml": "..data", "none.yaml": filepath.Join(dir, "absent")} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]string{}
	for _, m := range host.ReadManifests(dir) {
		got[m.Plugin] = string(m.Data)
		if m.Err != nil {
			got[m.Plugin] = strings.ReplaceAll(m.Err.Error(), dir+"/", "")
		}
	}
	const linked = ".yaml: it is a symbolic link to no file of the plugin folder; put the file itself there"
	want := map[string]string{"in": "inside", "out": "out" + linked, "none": "none" + linked}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
}
