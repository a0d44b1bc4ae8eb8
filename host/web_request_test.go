package host

import (
	"bufio"
	"bytes"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// Whatever a guest says, what goes over the wire is one request with the headers that were allowed, and nothing behind it.
func FuzzRequestHead(f *testing.F) {
	for _, head := range []string{
		`{"url":"https://example.com"}`, `{"method":"POST","url":"http://example.com:8080/a b?c=d#e","headers":{"A":"b","c":["d","e"]}}`,
		`{"url":"https://example.com/%0d%0aX:%20y"}`, `{"url":"https://example.com/\r\nX: y"}`, `{"url":"https://example.com","headers":{"A":"b\r\nX: y"}}`,
		`{"url":"https://example.com","headers":{"User-Agent":"mine","accept":"*/*","Cookie":"a=b"}}`, `{"method":"get","url":"HTTPS://[2001:db8::1]/"}`,
		`{"url":"https://example.com?a=\u2028"}`, `{"url":"https://example.com","headers":{"A":"\u00e9\t "}}`,
	} {
		f.Add([]byte(head), []byte("body"))
	}
	f.Fuzz(func(t *testing.T, head, body []byte) {
		req, to, err := newRequest(head, body)
		if err != nil {
			return
		}
		if to.Host == "" || to.Port == 0 {
			t.Errorf("it goes to %+v", to)
		}
		var wire bytes.Buffer
		if err := req.Write(&wire); err != nil {
			return // refused before anything was sent
		}
		r := bufio.NewReader(&wire)
		got, err := http.ReadRequest(r)
		if err != nil {
			t.Fatalf("what is sent for %q cannot be read: %v", head, err)
		}
		var sent bytes.Buffer
		if _, err := sent.ReadFrom(got.Body); err != nil || !bytes.Equal(sent.Bytes(), body) {
			t.Errorf("the body is %q, %v; want %q", sent.Bytes(), err, body)
		}
		if rest, _ := r.Peek(1); len(rest) > 0 {
			t.Errorf("something comes after the request of %q", head)
		}
		if got.Method != req.Method || got.Host != req.Host {
			t.Errorf("%s to %s was sent as %s to %s", req.Method, req.Host, got.Method, got.Host)
		}
		for name, values := range got.Header {
			if name == "Content-Length" {
				continue
			}
			want := make([]string, 0, len(values))
			for _, v := range req.Header[name] {
				want = append(want, strings.Trim(v, " \t"))
			}
			if !slices.Equal(values, want) {
				t.Errorf("header %s is %q, want %q", name, values, want)
			}
		}
	})
}

// The variables of the environment are read once by net/http, so no test can see that they are not.
func TestRequestsAskNoProxy(t *testing.T) {
	r := &run{host: &Host{}}
	if r.newWeb().client.Transport.(*gate).next.Proxy != nil {
		t.Error("there is a proxy")
	}
}
