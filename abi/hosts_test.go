package abi_test

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/jobhost/jobhost/abi"
)

func TestPatternsOfHosts(t *testing.T) {
	for pattern, urls := range map[string][2][]string{
		"api.example.com": {
			{"https://api.example.com", "https://API.Example.Com:443/x?y", "https://api.example.com.", "HTTPS://api.example.com"},
			{"http://api.example.com", "https://api.example.com:8443", "https://example.com", "https://xapi.example.com", "https://a.api.example.com", "https://api.example.com.evil.org"},
		},
		"*.Example.com": {
			{"https://a.example.com", "https://a.b.example.com", "https://a.example.com."},
			{"https://example.com", "https://aexample.com", "https://a.example.com.org", "http://a.example.com"},
		},
		"http://localhost:8080":  {{"http://localhost:8080/"}, {"https://localhost:8080", "http://localhost", "http://127.0.0.1:8080"}},
		"http://example.com":     {{"http://example.com", "http://example.com:80"}, {"https://example.com", "https://example.com:80"}},
		"https://example.com:80": {{"https://example.com:80"}, {"http://example.com"}},
		"192.0.2.1":              {{"https://192.0.2.1"}, {"https://192.0.2.10", "https://[::ffff:192.0.2.1]"}},
		"[2001:DB8::1]:8443":     {{"https://[2001:db8::1]:8443", "https://[2001:db8:0::1]:8443"}, {"https://[2001:db8::1]"}},
		"*":                      {{"https://anything.example", "https://192.0.2.1", "https://[::1]"}, {"http://anything.example", "https://anything.example:444"}},
		"http://*:81":            {{"http://x:81"}, {"http://x"}},
		"*.1.1.1.1.example.com":  {{"https://a.1.1.1.1.example.com"}, {"https://1.1.1.1"}},
	} {
		p, err := abi.ParseHostPattern(pattern)
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
			continue
		}
		for i, list := range urls {
			for _, s := range list {
				u, err := url.Parse(s)
				if err != nil {
					t.Fatal(err)
				}
				e, err := abi.EndpointOf(u)
				if err != nil {
					t.Errorf("%s: %v", s, err)
				}
				if got := p.Matches(e); got != (i == 0) {
					t.Errorf("%s matches %s: %t", pattern, s, got)
				}
			}
		}
	}
}

func TestPatternsThatAreNone(t *testing.T) {
	for _, pattern := range []string{
		"", "ftp://example.com", "https://", "example.com/path", "https://example.com/", "user@example.com", "example.com?x", "example.com:", "example.com:0",
		"example.com:65536", "example.com:x", "exa mple.com", "*.*.com", "a.*.com", "*com", "**", "*.", ".example.com", "example..com", "ex\u00e4mple.com",
		"::1", "2001:db8::1", "[::1", "[fe80::1%eth0]", "*.192.0.2.1", "1.2.3", "0x7f000001", "127.1", "exa\nmple.com", "//example.com",
	} {
		if p, err := abi.ParseHostPattern(pattern); err == nil {
			t.Errorf("%q is taken for %+v", pattern, p)
		}
	}
}

func TestAnEndpointIsWrittenAsItIsGranted(t *testing.T) {
	for _, s := range []string{"example.com", "example.com:8443", "http://example.com", "http://example.com:81", "[2001:db8::1]", "http://[::1]:8080", "192.0.2.1:1"} {
		p, err := abi.ParseHostPattern(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.String(); got != s {
			t.Errorf("%s is written %s", s, got)
		}
	}
}

func FuzzHostPattern(f *testing.F) {
	for _, s := range []string{"example.com", "*.example.com:8443", "http://[::1]:80", "*", "127.1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := abi.ParseHostPattern(s)
		if err != nil {
			return
		}
		again, err := abi.ParseHostPattern(p.String())
		if err != nil || again != p {
			t.Errorf("%q is %+v, written %s and read again %+v, %v", s, p, p, again, err)
		}
	})
}

func ExampleParseHostPattern() {
	pattern, err := abi.ParseHostPattern("*.example.com")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, text := range []string{"https://api.example.com/v1", "https://example.com/", "http://api.example.com/"} {
		u, _ := url.Parse(text)
		to, err := abi.EndpointOf(u)
		fmt.Println(text, err == nil && pattern.Matches(to))
	}
	// Output:
	// https://api.example.com/v1 true
	// https://example.com/ false
	// http://api.example.com/ false
}
