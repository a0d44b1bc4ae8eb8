package memstore_test

import (
	"testing"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/jobtest"
	"github.com/jobhost/jobhost/memstore"
)

func TestElectionPasses(t *testing.T) {
	jobtest.Leader(t, jobtest.LeaderOpener{Open: func(testing.TB) jobhost.Leader { return memstore.NewElection() }})
}
