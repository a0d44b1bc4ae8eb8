package host

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/abi"
)

// requestHead is what a guest says about a request.
type requestHead struct {
	Method  string           `json:"method"` // GET if empty
	URL     string           `json:"url"`
	Headers map[string]texts `json:"headers"`
}

// texts are one text or a list.
type texts []string

// UnmarshalJSON implements json.Unmarshaler.
func (t *texts) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		*t = make(texts, 1)
		return json.Unmarshal(b, &(*t)[0])
	}
	return json.Unmarshal(b, (*[]string)(t))
}

// newRequest makes a request of what a guest says, and says where it goes. It checks everything that has to do with how a
// request is framed; whether it may go there is for the gate.
func newRequest(head, body []byte) (*http.Request, abi.Endpoint, error) {
	var h requestHead
	d := json.NewDecoder(bytes.NewReader(head))
	d.DisallowUnknownFields()
	if err := d.Decode(&h); err != nil {
		return nil, abi.Endpoint{}, fmt.Errorf("the head is no JSON object with method, url and headers: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, abi.Endpoint{}, errors.New("the head has something after its end")
	}
	method := orDefault(h.Method, http.MethodGet)
	if !token(method) || method == http.MethodConnect || method == http.MethodTrace {
		return nil, abi.Endpoint{}, fmt.Errorf("the method is %.40q; want one such as GET or POST, not CONNECT or TRACE", method)
	}
	u, err := url.Parse(h.URL)
	if err != nil {
		return nil, abi.Endpoint{}, errors.New("the URL cannot be read") // the reason repeats it
	}
	if u.User != nil {
		return nil, abi.Endpoint{}, errors.New("the URL has a user; want a header authorization")
	}
	to, err := abi.EndpointOf(u)
	if err != nil {
		return nil, abi.Endpoint{}, err
	}
	req, err := http.NewRequest(method, u.String(), bytes.NewReader(body)) //nolint:noctx // it gets the run's
	if err != nil {
		return nil, abi.Endpoint{}, errors.New("the URL cannot be used")
	}
	req.Header.Set("User-Agent", "jobhost")
	return req, to, setHeaders(req.Header, h.Headers)
}

// forbidden are the headers that say how a message is framed and for whom it is. They are the host's to set.
var forbidden = map[string]bool{
	"Connection": true, "Content-Length": true, "Expect": true, "Host": true, "Http2-Settings": true, "Keep-Alive": true, "Proxy-Authenticate": true,
	"Proxy-Authorization": true, "Proxy-Connection": true, "Te": true, "Trailer": true, "Transfer-Encoding": true, "Upgrade": true,
}

func setHeaders(into http.Header, headers map[string]texts) error {
	for name, values := range headers {
		if !token(name) {
			return fmt.Errorf("%.80q is no name of a header", name)
		}
		key := http.CanonicalHeaderKey(name)
		if forbidden[key] {
			return fmt.Errorf("the header %s is the host's to set", strings.ToLower(name))
		}
		into.Del(key)
		for _, v := range values {
			if !fieldValue(v) {
				return fmt.Errorf("the header %s has a control character", strings.ToLower(name))
			}
			into.Add(key, v)
		}
	}
	return nil
}

// token reports whether s is a token of RFC 9110, as methods and names of headers are.
func token(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}

// fieldValue reports whether s has no control characters but tabs, so that it cannot end its line.
func fieldValue(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// methods are those that have a name of their own in the OpenTelemetry conventions for HTTP.
var methods = map[string]bool{
	http.MethodGet: true, http.MethodHead: true, http.MethodPost: true, http.MethodPut: true, http.MethodPatch: true, http.MethodDelete: true,
	http.MethodOptions: true, "QUERY": true,
}

// clientSpans is a span that can have one below it that stands for a request to another service.
type clientSpans interface {
	Client(name string) jobhost.Span
}

// clientSpan starts the span of a request, named and described by the OpenTelemetry conventions for HTTP clients. Redirects
// belong to it. The URL comes without its query, which often holds keys. Requests beyond the limit of spans have none: what
// they call continues the span around them.
func (r *run) clientSpan(req *http.Request, to abi.Endpoint) jobhost.Span {
	parent := r.spans.innermost()
	if r.web.traced++; r.web.traced > abi.MaxSpans {
		return untraced(parent.Traceparent())
	}
	name, method := req.Method, req.Method
	if !methods[method] {
		name, method = "HTTP", "_OTHER"
	}
	var span jobhost.Span
	if p, ok := parent.(clientSpans); ok {
		span = p.Client(name)
	} else {
		span = parent.Child(name)
	}
	span.SetAttribute("http.request.method", method)
	if method != req.Method {
		span.SetAttribute("http.request.method_original", r.clean([]byte(req.Method), abi.MaxSpanText))
	}
	u := url.URL{Scheme: req.URL.Scheme, Host: req.URL.Host, Path: req.URL.Path, RawPath: req.URL.RawPath}
	span.SetAttribute("url.full", r.clean([]byte(u.String()), abi.MaxSpanValue))
	span.SetAttribute("server.address", r.clean([]byte(to.Host), abi.MaxSpanText))
	span.SetAttribute("server.port", strconv.Itoa(int(to.Port)))
	return span
}
