package jobhost

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
)

// Fingerprint is the SHA-256, in hexadecimal, of the definition's canonical form: JSON with sorted keys, values equal to
// their default left out, triggers by name and schedules in canonical text (SPEC 21). It does not change with formatting,
// the order of keys or triggers, or a default that is spelled out. The definition must have passed [JobDef.Check].
func (d JobDef) Fingerprint() string {
	c := map[string]any{"name": d.Name, "plugin": d.Plugin}
	set(c, "data", canonicalJSON(d.Data))
	set(c, "allow_concurrent", d.AllowConcurrent)
	set(c, "run_on_every_instance", d.RunOnEveryInstance)
	set(c, "requests_recovery", d.RequestsRecovery)
	set(c, "timeout", d.Timeout)
	set(c, "description", d.Description)
	if d.HistoryLimit != DefaultHistoryLimit {
		c["history_limit"] = d.HistoryLimit
	}
	if p := d.Retry; p != nil {
		r := map[string]any{"max_retries": p.MaxRetries, "delay": p.Delay}
		set(r, "exponential", p.Exponential)
		set(r, "max_delay", p.MaxDelay)
		c["retry"] = r
	}
	triggers := slices.SortedFunc(slices.Values(d.Triggers), func(a, b TriggerDef) int { return strings.Compare(a.Name, b.Name) })
	list := make([]map[string]any, 0, len(triggers))
	for _, t := range triggers {
		list = append(list, t.canonical())
	}
	if len(list) > 0 {
		c["triggers"] = list
	}
	sum := sha256.Sum256(mustJSON(c))
	return hex.EncodeToString(sum[:])
}

func (t TriggerDef) canonical() map[string]any {
	c := map[string]any{"name": t.Name, "schedule": t.Schedule}
	if s, err := ParseSchedule(t.Schedule); err == nil {
		c["schedule"] = s.String()
	}
	set(c, "data", canonicalJSON(t.Data))
	if t.Priority != DefaultPriority {
		c["priority"] = t.Priority
	}
	set(c, "misfire", t.Misfire)
	set(c, "start_deadline", t.StartDeadline)
	set(c, "description", t.Description)
	return c
}

func set[T comparable](m map[string]any, key string, v T) {
	var none T
	if v != none {
		m[key] = v
	}
}

// canonicalJSON writes data with sorted keys and without insignificant space, numbers as they were; "" for an empty object.
func canonicalJSON(data json.RawMessage) string {
	var v map[string]any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if len(data) == 0 || d.Decode(&v) != nil || len(v) == 0 {
		return ""
	}
	return string(mustJSON(v))
}

// mustJSON encodes what is made of maps, lists, strings and numbers, so it cannot fail.
func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
