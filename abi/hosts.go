package abi

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// Endpoint is where a request goes.
type Endpoint struct {
	Scheme string // http or https
	Host   string // in lower case, without brackets and a final dot
	Port   uint16
}

// String is the endpoint as it could be granted.
func (e Endpoint) String() string {
	s := e.Host
	if strings.ContainsRune(s, ':') {
		s = "[" + s + "]"
	}
	if e.Scheme != schemeHTTPS {
		s = e.Scheme + "://" + s
	}
	if e.Port != defaultPort(e.Scheme) {
		s += ":" + strconv.Itoa(int(e.Port))
	}
	return s
}

// HostPattern says which endpoints a grant of HTTP requests covers (ABI 5). Its text is the name of a host such as
// api.example.com, any name below one such as *.example.com, any host at all with *, or an address. It stands for https on
// port 443 unless http:// is before it or a port after it.
type HostPattern struct{ endpoint Endpoint } // whose host may be "*", or "*." and a name

const (
	schemeHTTP  = "http"
	schemeHTTPS = "https"
	anyHost     = "*"
)

func defaultPort(scheme string) uint16 {
	if scheme == schemeHTTP {
		return 80
	}
	return 443
}

// Matches reports whether the pattern covers an endpoint. An address is covered by itself and by "*" alone.
func (p HostPattern) Matches(e Endpoint) bool {
	if p.endpoint.Scheme != e.Scheme || p.endpoint.Port != e.Port {
		return false
	}
	if base, below := strings.CutPrefix(p.endpoint.Host, "*."); below {
		_, err := netip.ParseAddr(e.Host)
		return err != nil && strings.HasSuffix(e.Host, "."+base)
	}
	return p.endpoint.Host == anyHost || p.endpoint.Host == e.Host
}

// String is the pattern as it can be read again.
func (p HostPattern) String() string { return p.endpoint.String() }

// ParseHostPattern reads a pattern. Its error is one line and says what is wrong, and what would be right.
func ParseHostPattern(text string) (HostPattern, error) {
	bad := func(why string) (HostPattern, error) {
		return HostPattern{}, fmt.Errorf("the host %q %s; want a form such as api.example.com, *.example.com, http://localhost:8080", text, why)
	}
	p := Endpoint{Scheme: schemeHTTPS}
	rest := text
	if scheme, after, ok := strings.Cut(text, "://"); ok {
		p.Scheme, rest = strings.ToLower(scheme), after
	}
	if p.Scheme != schemeHTTP && p.Scheme != schemeHTTPS {
		return bad("has the scheme " + strconv.Quote(p.Scheme))
	}
	if strings.ContainsAny(rest, "/?#@") {
		return bad("is more than a host and a port")
	}
	name, port, err := splitPort(rest)
	if err != nil {
		return bad(err.Error())
	}
	if p.Port = defaultPort(p.Scheme); port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return bad("has the port " + strconv.Quote(port))
		}
		p.Port = uint16(n)
	}
	if name == anyHost {
		p.Host = anyHost
		return HostPattern{p}, nil
	}
	base, below := strings.CutPrefix(name, "*.")
	if p.Host, err = normalHost(base); err != nil {
		return bad(err.Error())
	}
	if _, err := netip.ParseAddr(p.Host); below && err == nil {
		return bad("has an address below a wildcard")
	}
	if below {
		p.Host = "*." + p.Host
	}
	return HostPattern{p}, nil
}

// splitPort splits a host and a port, either of which may be absent. An IPv6 address has brackets.
func splitPort(s string) (host, port string, err error) {
	if strings.HasSuffix(s, ":") {
		return "", "", errors.New("has no port after the colon")
	}
	if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
		return s[1 : len(s)-1], "", nil
	}
	if !strings.Contains(s, ":") {
		return s, "", nil
	}
	host, port, err = net.SplitHostPort(s)
	if err != nil {
		return "", "", errors.New("is no host and port; an IPv6 address has brackets around it")
	}
	return host, port, nil
}

// EndpointOf returns where a request for a URL goes. It refuses schemes but http and https, names that are not ASCII, and what
// some resolvers take for an address though it is written like none.
func EndpointOf(u *url.URL) (Endpoint, error) {
	e := Endpoint{Scheme: strings.ToLower(u.Scheme)}
	if e.Scheme != schemeHTTP && e.Scheme != schemeHTTPS {
		return e, fmt.Errorf("the scheme of the URL is %q; want http or https", u.Scheme)
	}
	if e.Port = defaultPort(e.Scheme); u.Port() != "" {
		n, err := strconv.ParseUint(u.Port(), 10, 16)
		if err != nil || n == 0 {
			return e, fmt.Errorf("the port of the URL is %q; want 1 to 65535", u.Port())
		}
		e.Port = uint16(n)
	}
	host, err := normalHost(u.Hostname())
	if err != nil {
		return e, fmt.Errorf("the host of the URL %w", err)
	}
	e.Host = host
	return e, nil
}

// normalHost is a name or an address in the one form that hosts are compared in. What resolvers may take for an address
// though it is written like none, such as 0x7f.1, is refused.
func normalHost(s string) (string, error) {
	if a, err := netip.ParseAddr(s); err == nil {
		if a.Zone() != "" {
			return "", errors.New("has a zone")
		}
		return a.String(), nil
	}
	name := strings.ToLower(strings.TrimSuffix(s, "."))
	if name == "" || len(name) > 253 {
		return "", errors.New("is empty or longer than 253 characters")
	}
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 {
			return "", errors.New("has a part that is empty or longer than 63 characters")
		}
		for _, c := range label {
			switch {
			case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-', c == '_':
			case c >= 0x80:
				return "", errors.New("is not ASCII; write it in its xn-- form")
			default:
				return "", fmt.Errorf("has the character %q", c)
			}
		}
	}
	if _, err := strconv.ParseUint(labels[len(labels)-1], 0, 64); err == nil {
		return "", errors.New("ends with a number and is no address")
	}
	return name, nil
}
