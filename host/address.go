package host

import "net/netip"

// notPublic are the blocks without a public server (RFC 6890 and the IANA registries of special-purpose addresses), the more
// particular ones first. All of IPv6 that is not here and not in 2000::/3 is reserved.
var notPublic = []struct {
	block netip.Prefix
	what  string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "of this network"},
	{netip.MustParsePrefix("10.0.0.0/8"), "private"},
	{netip.MustParsePrefix("100.64.0.0/10"), "shared by the customers of a provider"},
	{netip.MustParsePrefix("127.0.0.0/8"), "of this machine"},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local"},
	{netip.MustParsePrefix("172.16.0.0/12"), "private"},
	{netip.MustParsePrefix("192.0.0.0/24"), "for protocols"},
	{netip.MustParsePrefix("192.0.2.0/24"), "for documentation"},
	{netip.MustParsePrefix("192.88.99.0/24"), "of a 6to4 relay"},
	{netip.MustParsePrefix("192.168.0.0/16"), "private"},
	{netip.MustParsePrefix("198.18.0.0/15"), "for benchmarks"},
	{netip.MustParsePrefix("198.51.100.0/24"), "for documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "for documentation"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved"},

	{netip.MustParsePrefix("::1/128"), "of this machine"},
	{netip.MustParsePrefix("::/96"), "an IPv4 address in disguise"},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "of a translator"},
	{netip.MustParsePrefix("100::/64"), "of nobody"},
	{netip.MustParsePrefix("2001:db8::/32"), "for documentation"},
	{netip.MustParsePrefix("2001::/32"), "of Teredo"},
	{netip.MustParsePrefix("2001::/23"), "for protocols"},
	{netip.MustParsePrefix("2002::/16"), "of 6to4"},
	{netip.MustParsePrefix("3fff::/20"), "for documentation"},
	{netip.MustParsePrefix("fc00::/7"), "private"},
	{netip.MustParsePrefix("fe80::/10"), "link-local"},
	{netip.MustParsePrefix("fec0::/10"), "private"},
}

var (
	nat64      = netip.MustParsePrefix("64:ff9b::/96") // the well-known prefix of RFC 6052
	globalIPv6 = netip.MustParsePrefix("2000::/3")
	broadcast  = netip.AddrFrom4([4]byte{255, 255, 255, 255})
)

// plain is the address that is meant: without a zone, and the IPv4 address that is written as an IPv6 one or reached through
// NAT64.
func plain(a netip.Addr) netip.Addr {
	a = a.WithZone("").Unmap()
	if nat64.Contains(a) {
		b := a.As16()
		return netip.AddrFrom4([4]byte(b[12:]))
	}
	return a
}

// special says why an address is none of the public internet; empty: it is.
func special(a netip.Addr) string {
	a = plain(a)
	if nobody(a) {
		return "that of no single machine"
	}
	for _, b := range notPublic {
		if b.block.Contains(a) {
			return b.what
		}
	}
	if a.Is6() && !globalIPv6.Contains(a) {
		return "reserved"
	}
	return ""
}

// nobody reports whether an address is never that of a server, so that no grant can mean it. Systems take the unspecified
// address for their own.
func nobody(a netip.Addr) bool {
	a = plain(a)
	return !a.IsValid() || a.IsUnspecified() || a.IsMulticast() || a == broadcast
}
