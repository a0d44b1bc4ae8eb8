package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/boltstore"
	"github.com/jobhost/jobhost/config"
)

// occupied completes the error of a start that failed because another host is there already: with which one, as far as it
// says so itself. Its process is the second part of a node's id, unless scheduler.node_id is set.
func occupied(s *config.Settings, err error) error {
	e, ok := errors.AsType[*jobhost.Error](err)
	if !ok || !boltstore.InUse(err) && e.Code != jobhost.NotServing {
		return err
	}
	node, _, unknown := hostAt(s.HTTP.Socket)
	if unknown != nil || node == "" {
		return err
	}
	pid := ""
	if parts := strings.Split(node, ":"); len(parts) == 3 {
		pid = ", process " + parts[1]
	}
	return &jobhost.Error{
		Code: e.Code, Op: e.Op, Msg: fmt.Sprintf("%s; the host %s%s serves %s", e.Msg, node, pid, s.HTTP.Socket),
		Hint: "stop that one, or give this one another data_dir", Err: err,
	}
}
