//go:build !unix

package apiserver

import (
	"errors"
	"os/exec"
	"time"

	"postage/service/child"
)

// supported says whether this system has what it takes to run a server and to be rid of it.
const supported = false

func ownGroup(*exec.Cmd) {}

func startServer(*exec.Cmd) (*child.Process, error) { return nil, errors.ErrUnsupported }

func kill(*child.Process) {}

func startWatchdog(int, []string) (*watchdog, error) { return nil, errors.ErrUnsupported }

const stopPatience = 10 * time.Second
