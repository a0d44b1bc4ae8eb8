package sdk_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost/sdk"
)

func TestAProjectHasSourceBuildFileReadmeConfigurationAndTheSDK(t *testing.T) {
	for language, want := range map[string]string{
		"go": "go.mod main.go main_test.go third_party/jobhost/go.mod third_party/jobhost/handler.go third_party/jobhost/internal/wire/guest.go " +
			"third_party/jobhost/jobhosttest/host.go third_party/jobhost/jobhttp/transport.go",
		"rust":           "Cargo.toml src/main.rs third_party/jobhost/Cargo.toml third_party/jobhost/src/lib.rs third_party/jobhost/src/sys.rs",
		"c":              "jobhost.h main.c",
		"assemblyscript": "assembly/index.ts package.json third_party/jobhost/assembly/index.ts tsconfig.json",
		"javascript": "jsconfig.json main.js package.json third_party/jobhost/javascript.mk third_party/jobhost/jobhost.c third_party/jobhost/jobhost.d.ts " +
			"third_party/jobhost/jobhost.h third_party/jobhost/jobhost.js third_party/jobhost/quickjs-wasi.h",
	} {
		t.Run(language, func(t *testing.T) {
			project, err := sdk.Project(language, "night-report")
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range append(strings.Fields(want), ".gitignore", "Makefile", "README.md", "jobhost.yaml") {
				if len(project[file]) == 0 {
					t.Errorf("there is no %s among %q", file, slices.Sorted(maps.Keys(project)))
				}
			}
			for file, text := range project {
				if strings.Contains(string(text), "{{") && !strings.HasSuffix(file, ".rs") || strings.HasSuffix(file, ".tmpl") || strings.HasSuffix(file, "_test.go") && file != "main_test.go" {
					t.Errorf("%s is not what a project should have", file)
				}
				if !filepath.IsLocal(file) || file != filepath.ToSlash(filepath.Clean(file)) {
					t.Errorf("%s is not a path below the project", file)
				}
			}
		})
	}
}

func TestAProjectNeedsALanguageAndAName(t *testing.T) {
	if _, err := sdk.Project("cobol", "a"); err == nil || err.Error() != `language "cobol" is not known; want one of go, rust, c, assemblyscript, javascript` {
		t.Errorf("language cobol: %v", err)
	}
	for _, name := range []string{"", "A", "1a", "a_b", "a b", "a-", "-a", "a--b", "a.b", "a/b", "é", strings.Repeat("a", sdk.MaxName+1)} {
		if _, err := sdk.Project("go", name); err == nil || !strings.Contains(err.Error(), "lower-case letters") {
			t.Errorf("name %q: %v", name, err)
		}
	}
	for _, name := range []string{"a", "a1", "a-b", "night-report-2", strings.Repeat("a", sdk.MaxName)} {
		if _, err := sdk.Project("go", name); err != nil {
			t.Errorf("name %q: %v", name, err)
		}
	}
}

func TestLanguagesAreInTheOrderOfTheHelp(t *testing.T) {
	if diff := cmp.Diff(sdk.Languages(), []string{"go", "rust", "c", "assemblyscript", "javascript"}); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
}
