// Package jobhttp sends a job's HTTP requests through its host.
//
//	client := http.Client{Transport: jobhttp.Transport{}}
//	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://example.com/", nil)
//	resp, err := client.Do(req)
//
// Make requests with the context of the handler, or one made from it: then they end with the run, and in tests they reach
// the host of the test. For code that does not, a guest may say http.DefaultTransport = jobhttp.Transport{}. The job needs a
// grant for the host of the URL; without one a request fails with jobhost.ErrDenied.
//
// What bites: the host waits for the head of the response, and for each piece of its body, and holds up all goroutines of
// the guest meanwhile. It follows redirects itself, and does not unpack compressed bodies. The package brings net/http,
// which makes a guest several MiB larger.
package jobhttp
