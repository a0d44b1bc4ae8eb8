package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	jobhost "github.com/jobhost/jobhost/sdk/go"
	"github.com/jobhost/jobhost/sdk/go/jobhosttest"
)

// archive is a file of a few checkpoints.
func archive() []byte {
	data := make([]byte, 3*step+1000)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(data) // it never fails
	return data
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// server is one that has a file.
type server struct {
	*httptest.Server

	content []byte
	etag    string
	tear    int    // answers are torn after so many bytes; 0: never
	status  int    // answered instead; 0: none
	useless bool   // parts are other ones than were asked for
	ranges  string // the headers Range of all requests
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{content: archive(), etag: `"v1"`}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.ranges += r.Header.Get("Range") + ";"
	if s.status != 0 {
		w.WriteHeader(s.status)
		return
	}
	if s.useless && r.Header.Get("Range") != "" {
		w.Header().Set("Content-Range", "bytes 5-9/100")
		w.WriteHeader(http.StatusPartialContent)
		return
	}
	if s.etag != "" {
		w.Header().Set("ETag", s.etag)
	}
	if s.tear > 0 {
		w = &torn{w, s.tear}
	}
	http.ServeContent(w, r, "archive", time.Time{}, bytes.NewReader(s.content))
}

// torn breaks the connection after so many bytes.
type torn struct {
	http.ResponseWriter

	left int
}

func (t *torn) Write(p []byte) (int, error) {
	if len(p) > t.left {
		_, _ = t.ResponseWriter.Write(p[:t.left])                // the connection breaks anyway
		_ = http.NewResponseController(t.ResponseWriter).Flush() // so that they arrive before that
		panic(http.ErrAbortHandler)
	}
	t.left -= len(p)
	return t.ResponseWriter.Write(p)
}

// job is a job that fetches from a server into a folder.
func (s *server) job(t *testing.T) (*jobhosttest.Host, string) {
	t.Helper()
	to := filepath.Join(t.TempDir(), "archive")
	return &jobhosttest.Host{
		HTTP: s.Client().Transport,
		Data: Options{URL: s.URL + "/archive", SHA256: strings.ToUpper(digest(s.content)), To: to, MaxBytes: 1 << 30},
	}, to
}

// hasFetched checks what a run left behind.
func hasFetched(t *testing.T, got jobhosttest.Result, host *jobhosttest.Host, to string, want []byte, resumed string) {
	t.Helper()
	if got.Err != nil {
		t.Fatal(got.Err)
	}
	if !strings.Contains(string(got.Output), `"resumed":`+resumed+`,"fetched":true`) {
		t.Errorf("result %s; want resumed %s", got.Output, resumed)
	}
	data, err := os.ReadFile(to)
	if err != nil || !bytes.Equal(data, want) {
		t.Errorf("the file has %d bytes, or other ones, %v", len(data), err)
	}
	if _, err := os.Stat(to + ".part"); !errors.Is(err, os.ErrNotExist) || len(host.Values) != 0 || got.LeftOpen != 0 {
		t.Errorf("left behind: the part %v, values %v, %d responses", err, host.Values, got.LeftOpen)
	}
}

func TestADownloadArrivesWhole(t *testing.T) {
	s := newServer(t)
	host, to := s.job(t)
	got := host.Run(t.Context(), handle)
	hasFetched(t, got, host, to, s.content, "0")
	size := int64(len(s.content))
	want := []jobhosttest.Progress{{Done: step, Total: size, Message: to}, {Done: 2 * step, Total: size, Message: to}, {Done: 3 * step, Total: size, Message: to}, {Done: size, Total: size, Message: to}}
	if diff := cmp.Diff(got.Progress, want); diff != "" {
		t.Errorf("progress (-got +want):\n%s", diff)
	}
	if again := host.Run(t.Context(), handle); again.Err != nil || !strings.Contains(string(again.Output), `"fetched":false`) || s.ranges != ";" {
		t.Errorf("a second run: %s, %v; requests %q; want none", again.Output, again.Err, s.ranges)
	}
}

func TestADownloadGoesOnWhereItStopped(t *testing.T) {
	for name, prepare := range map[string]func(s *server){
		"with a tag":    func(*server) {},
		"without a tag": func(s *server) { s.etag = "" },
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			prepare(s)
			s.tear = step + 500
			host, to := s.job(t)
			first := host.Run(t.Context(), handle)
			if first.Err == nil || first.Permanent || !errors.Is(first.Err, jobhost.ErrFailed) {
				t.Fatalf("a torn download: %v, permanent %v", first.Err, first.Permanent)
			}
			s.tear = 0
			hasFetched(t, host.Run(t.Context(), handle), host, to, s.content, "1049076")
			if s.ranges != ";bytes=1049076-;" {
				t.Errorf("ranges %q", s.ranges)
			}
		})
	}
}

func TestADownloadBeginsAnewWhenItMust(t *testing.T) {
	for name, meanwhile := range map[string]func(t *testing.T, s *server, host *jobhosttest.Host, to string){
		"the file has another tag":      func(_ *testing.T, s *server, _ *jobhosttest.Host, _ string) { s.etag = `"v2"` },
		"the server sends another part": func(_ *testing.T, s *server, _ *jobhosttest.Host, _ string) { s.useless = true },
		"the part is gone": func(t *testing.T, _ *server, _ *jobhosttest.Host, to string) {
			t.Helper()
			if err := os.Remove(to + ".part"); err != nil {
				t.Fatal(err)
			}
		},
		"the hash cannot be read": func(_ *testing.T, s *server, host *jobhosttest.Host, _ string) {
			host.Values[key(digest(s.content))] = []byte(`{"url":"` + s.URL + `/archive","done":5,"hash":"AAAA"}`)
		},
		"the checkpoint is of another address": func(_ *testing.T, s *server, host *jobhosttest.Host, _ string) {
			host.Values[key(digest(s.content))] = []byte(`{"url":"https://example.com/","done":5}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.tear = step + 500
			host, to := s.job(t)
			if first := host.Run(t.Context(), handle); first.Err == nil {
				t.Fatal("the download was not torn")
			}
			s.tear = 0
			meanwhile(t, s, host, to)
			hasFetched(t, host.Run(t.Context(), handle), host, to, s.content, "0")
		})
	}
}

func TestAFileThatIsNotTheOneIsRefused(t *testing.T) {
	s := newServer(t)
	host, to := s.job(t)
	s.content = bytes.ToUpper(s.content)
	got := host.Run(t.Context(), handle)
	if got.Code != codeMismatch || !got.Permanent {
		t.Errorf("code %q, permanent %v: %s", got.Code, got.Permanent, got.Message)
	}
	for _, file := range []string{to, to + ".part"} {
		if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is there: %v", file, err)
		}
	}
}

func TestAFileOfTwoHalvesIsFetchedAgain(t *testing.T) {
	s := newServer(t)
	s.etag = ""
	s.tear = step + 500
	host, to := s.job(t)
	host.Run(t.Context(), handle)
	s.tear = 0
	whole := s.content
	s.content = bytes.Repeat([]byte("other"), len(whole)/5)
	if got := host.Run(t.Context(), handle); got.Code != codeMismatch || got.Permanent {
		t.Errorf("code %q, permanent %v: %s; want one that is retried", got.Code, got.Permanent, got.Message)
	}
	s.content = whole
	hasFetched(t, host.Run(t.Context(), handle), host, to, whole, "0")
}

func TestAStatusThatIsNoSuccessFailsTheRun(t *testing.T) {
	for status, permanent := range map[int]bool{404: true, 410: true, 408: false, 429: false, 500: false, 503: false} {
		s := newServer(t)
		s.status = status
		host, _ := s.job(t)
		if got := host.Run(t.Context(), handle); got.Code != codeStatus || got.Permanent != permanent {
			t.Errorf("status %d: code %q, permanent %v: %s", status, got.Code, got.Permanent, got.Message)
		}
	}
}

func TestAFileThatIsTooLargeIsRefused(t *testing.T) {
	s := newServer(t)
	host, to := s.job(t)
	o, ok := host.Data.(Options)
	if !ok {
		t.Fatal("no options")
	}
	o.MaxBytes = step
	host.Data = o
	if got := host.Run(t.Context(), handle); got.Code != codeTooLarge || !got.Permanent {
		t.Errorf("code %q, permanent %v: %s", got.Code, got.Permanent, got.Message)
	}
	if _, err := os.Stat(to + ".part"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the part is there: %v", err)
	}
}

func TestOptions(t *testing.T) {
	sum := strings.Repeat("0", 64)
	for data, want := range map[string]string{
		`{}`: "url is no address of a file; want such as https://example.com/dump.tar.gz; sha256 is no digest; want 64 hexadecimal digits; " +
			"to is no path of a file; want such as /out/dump.tar.gz",
		`{"url":"ftp://example.com/a","sha256":"` + sum + `","to":"/out/a"}`:                       "url is no address of a file; want such as https://example.com/dump.tar.gz",
		`{"url":"https://example.com/a","sha256":"00","to":"/out/a"}`:                              "sha256 is no digest; want 64 hexadecimal digits",
		`{"url":"https://example.com/a","sha256":"` + sum + `","to":"/out/"}`:                      "to is no path of a file; want such as /out/dump.tar.gz",
		`{"url":"https://example.com/a","sha256":"` + sum + `","to":"/out/a","max_bytes":0}`:       "max_bytes is less than 1",
		`{"url":"https://example.com/a","sha256":"` + sum + `","to":"/out/a","max_bytes":"a lot"}`: "the job's data: json: cannot unmarshal string into Go struct field Options.max_bytes of type int64",
	} {
		host := jobhosttest.Host{Data: raw(data)}
		if got := host.Run(t.Context(), handle); got.Code != jobhost.BadData || got.Message != want || !got.Permanent {
			t.Errorf("data %s: %q, code %q, permanent %v", data, got.Message, got.Code, got.Permanent)
		}
	}
}

// raw is JSON as it is.
type raw string

func (r raw) MarshalJSON() ([]byte, error) { return []byte(r), nil }
