package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// localtime is where a system says which zone it is in, mostly as a link to the zone's file.
const localtime = "/etc/localtime"

// zoneName names a zone as schedules and --zone take it. The local one is only known by its name where the system says it; else
// it is named by its present offset from UTC.
func zoneName(zone *time.Location) string {
	const nameless = "Local"
	if name := zone.String(); name != nameless {
		return name
	}
	if file, err := filepath.EvalSymlinks(localtime); err == nil {
		_, name, ok := strings.Cut(filepath.ToSlash(file), "/zoneinfo/")
		for _, variant := range []string{"posix/", "right/"} {
			name = strings.TrimPrefix(name, variant)
		}
		if _, err := time.LoadLocation(name); ok && err == nil && name != "" {
			return name
		}
	}
	if _, offset := time.Now().In(zone).Zone(); offset == 0 {
		return "UTC"
	}
	return time.Now().In(zone).Format("-07:00")
}

// wrongZone says that the variable TZ names no zone; empty: it does, or there is none. Go takes UTC for it without a word.
func (c *cli) wrongZone() string {
	tz, set := c.lookup("TZ")
	switch name := strings.TrimPrefix(tz, ":"); {
	case !set, name == "", name == "UTC", time.Local.String() != "UTC":
		return ""
	default:
		return fmt.Sprintf("the variable TZ is %q, which is no zone that is known here; local times are those of UTC", tz)
	}
}

// sayZone warns of it.
func (c *cli) sayZone() {
	if wrong := c.wrongZone(); wrong != "" {
		c.say("warning: %s", visible(wrong))
	}
}
