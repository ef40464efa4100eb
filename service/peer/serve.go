package peer

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Serve is the child's side. It says ready, then answers each line of the input until
// that ends. The server itself has been started before, and is closed after.
func Serve(stdin io.Reader, stdout io.Writer, ready any, answer func(question json.RawMessage) (any, error)) error {
	if err := say(stdout, ready, nil); err != nil {
		return err
	}
	decoder := json.NewDecoder(stdin)
	for {
		var question json.RawMessage
		if err := decoder.Decode(&question); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("peer: %w", err)
		}
		value, err := answer(question)
		if err := say(stdout, value, err); err != nil {
			return err
		}
	}
}

// ReadConfig reads, before Serve, what StartConfigured was given.
func ReadConfig(stdin *bufio.Reader, config any) error {
	line, err := stdin.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, config)
	}
	if err != nil {
		return fmt.Errorf("peer: read what to serve: %w", err)
	}
	return nil
}

// Refuse says, in place of Serve, why there will be no server.
func Refuse(stdout io.Writer, why error) error { return say(stdout, nil, why) }

func say(stdout io.Writer, value any, err error) error {
	var m message
	if err == nil {
		m.Value, err = json.Marshal(value)
	}
	if err != nil {
		m = message{Error: err.Error()}
	}
	if err := json.NewEncoder(stdout).Encode(m); err != nil {
		return fmt.Errorf("peer: %w", err)
	}
	return nil
}
