package host

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// One server is asked by one connection in one protocol, by nobody between.
func TestTheTransportOfARunSpeaksHTTP1WithoutAProxy(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { w.Header().Set("X-Proto", req.Proto) }))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	get := func(rt http.RoundTripper) string {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
		must(t, err)
		resp, err := rt.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		must(t, resp.Body.Close())
		return resp.Header.Get("X-Proto")
	}
	if proto := get(s.Client().Transport); proto != "HTTP/2.0" {
		t.Errorf("the server itself speaks %s", proto)
	}
	r := &run{host: &Host{cfg: Config{Roots: s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}}, ctx: t.Context()}
	r.grant.HTTP = []HTTP{{Host: s.Listener.Addr().String(), Private: true}}
	w := r.newWeb()
	t.Cleanup(w.close)
	if proto := get(w.client.Transport); proto != "HTTP/1.1" {
		t.Errorf("a run speaks %s", proto)
	}
	if next := w.client.Transport.(*gate).next; next.Proxy != nil || next.OnProxyConnectResponse != nil {
		t.Error("a run asks a proxy")
	}
}
