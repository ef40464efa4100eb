//go:build !unix

package postgres

import (
	"errors"
	"os"
	"os/exec"

	"postage/service/child"
)

type identity struct{}

func serverUser() (*identity, error) {
	return nil, errors.New("a scratch cluster needs a Unix system: name a server of yours in POSTAGE_DSN")
}

func (*identity) own(string) error          { return nil }
func (*identity) apply(*exec.Cmd)           {}
func (*identity) mayEnter(os.FileInfo) bool { return true }

func startServer(*exec.Cmd) (*child.Process, error) { return nil, errors.ErrUnsupported }

func kill(*child.Process) {}
