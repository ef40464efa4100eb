//go:build !unix

package pgtest

import (
	"errors"
	"os/exec"
)

type identity struct{}

func serverUser() (*identity, error) {
	return nil, errors.New("a scratch cluster needs a Unix system")
}

func (*identity) own(string) error { return nil }
func (*identity) apply(*exec.Cmd)  {}

func startServer(*exec.Cmd, func(*exec.Cmd) error) (*process, error) {
	return nil, errors.ErrUnsupported
}

func kill(*process) {}
