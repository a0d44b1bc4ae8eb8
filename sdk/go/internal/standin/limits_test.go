package standin

import (
	"testing"

	"github.com/jobhost/jobhost/abi"
	"github.com/jobhost/jobhost/sdk/go/internal/wire"
)

// A job that passes its tests must not meet other limits in a host.
func TestLimitsAreThoseOfAHost(t *testing.T) {
	for what, c := range map[string][2]int{
		"key": {maxKey, abi.MaxKey}, "value": {maxValue, abi.MaxValue}, "values": {maxValues, abi.MaxValues},
		"body": {maxBody, abi.MaxHTTPBody}, "responses": {maxResponses, abi.MaxResponses},
	} {
		if c[0] != c[1] {
			t.Errorf("the limit of a %s is %d; in a host it is %d", what, c[0], c[1])
		}
	}
}

func TestErrorNumbersAreThoseOfAHost(t *testing.T) {
	for e, want := range map[wire.Errno]abi.Errno{
		wire.NotFound: abi.NotFound, wire.Denied: abi.Denied, wire.TooLarge: abi.TooLarge, wire.BadArgument: abi.BadArgument,
		wire.Ending: abi.Ending, wire.Failed: abi.Failed, wire.Limit: abi.Limit,
	} {
		if int32(e) != int32(want) {
			t.Errorf("%v is %d; in a host it is %d", e, e, want)
		}
	}
	if got := wire.Errno(-99).Error(); got != "host error -99" {
		t.Errorf("an unknown number is %q", got)
	}
}
