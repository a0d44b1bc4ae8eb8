package cron

import (
	"fmt"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // a bare container has no zone database
)

// What LoadZone has read: reading a zone takes some 0.1 ms, and there are about 600 names.
var (
	zones   sync.Map // name to *time.Location
	periods sync.Map // *time.Location to []period
)

func periodsOf(loc *time.Location) []period {
	if p, ok := periods.Load(loc); ok {
		return p.([]period)
	}
	return nil
}

// LoadZone returns the zone with a name as [CanonicalZone] reads it. Empty is UTC. The zone database is compiled in, so
// the zones are there in a bare container too; where the system has one of its own, that one is used.
func LoadZone(name string) (*time.Location, error) {
	_, loc, err := zone(name)
	return loc, err
}

// CanonicalZone returns the IANA name of a zone. It takes IANA names as they are, and Windows zone ids such as
// "China Standard Time" in any case; empty is "UTC". It refuses a name that the zone database does not have, and
// "Local", which means something different on each machine.
func CanonicalZone(name string) (string, error) {
	name, _, err := zone(name)
	return name, err
}

func zone(name string) (string, *time.Location, error) {
	if name == "" || name == "UTC" {
		return "UTC", time.UTC, nil
	}
	if loc, ok := zones.Load(name); ok {
		return name, loc.(*time.Location), nil
	}
	if strings.EqualFold(name, "Local") || strings.EqualFold(name, "localtime") {
		return "", nil, fmt.Errorf("zone %q means something different on each machine; want an IANA name such as Europe/Berlin, or UTC", name)
	}
	if iana, ok := windows[strings.ToLower(name)]; ok {
		return zone(iana)
	}
	if plausible(name) {
		if loc, err := time.LoadLocation(name); err == nil {
			periods.Store(loc, periodsFrom1970(loc))
			kept, lost := zones.LoadOrStore(name, loc)
			if lost { // somebody else has just loaded it
				periods.Delete(loc)
			}
			return name, kept.(*time.Location), nil
		}
	}
	return "", nil, fmt.Errorf("zone %q is unknown; %s", name, zoneHint(name))
}

// zoneHint says what to write instead of an unknown name.
func zoneHint(name string) string {
	capital := []byte(strings.ToLower(strings.ReplaceAll(name, " ", "_")))
	for i, c := range capital {
		if c >= 'a' && c <= 'z' && (i == 0 || capital[i-1] == '/' || capital[i-1] == '_') {
			capital[i] = c - 'a' + 'A'
		}
	}
	if fixed := string(capital); fixed != name && plausible(fixed) {
		if _, err := time.LoadLocation(fixed); err == nil {
			return "write " + fixed
		}
	}
	if i := strings.LastIndexAny(name, "+-"); i >= 0 && i+1 < len(name) && name[i+1] >= '0' && name[i+1] <= '9' {
		return "an offset is written like Etc/GMT-8, which is eight hours ahead of UTC"
	}
	return "want an IANA name such as Europe/Berlin, or UTC"
}

// plausible reports whether name has the form of an IANA name. It keeps away from other files that a system may have
// beside its zones, such as posixrules and right/Europe/Berlin.
func plausible(name string) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'A' && c <= 'Z':
		case i == 0:
			return false
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '/', c == '_', c == '-', c == '+':
		default:
			return false
		}
	}
	return len(name) <= 64
}
