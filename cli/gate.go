package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"postage/internal/feature/build"
	"postage/internal/feature/show"
	"postage/internal/kit/report"
	"postage/internal/verdict"
	"postage/record"
)

// exitStatus ends a command with an exit code; the output says why.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// Exit codes of a gate beside 0 and exitUsage.
const (
	exitRegressed    exitStatus = 1
	exitInconclusive exitStatus = 3
)

const thresholdsUsage = "YAML `file` of thresholds: time, allocs, bytes, size, instructions\n(default time: 3%, or what can be seen; instructions: 3%; all else 0)"

// printGate prints a comparison if it has an answer, and is [gate].
func printGate(cmd *cobra.Command, c *verdict.Changes, form report.Form) error {
	answer := gate(cmd, c, nil)
	if _, is := answer.(exitStatus); answer != nil && !is {
		return answer
	}
	if err := show.Gate(cmd.OutOrStdout(), c, form); err != nil {
		return err
	}
	return answer
}

// gate is the error that decides a gate's exit code from a comparison. lost names what the new code
// has no figures for; rows with figures in the old code only are lost too. A row that the old
// revision did not have, or that failed there, cannot have become slower.
func gate(cmd *cobra.Command, c *verdict.Changes, lost []string) error {
	for _, u := range c.Unmatched {
		say(cmd, "%s: %s", u.Row, u.Reason)
		if u.Old {
			lost = append(lost, u.Row)
		}
	}
	return gateStatus(cmd, c.Outcome(), lost, c.New.Run.Vary)
}

// gateStatus is the error that decides a gate's exit code: the outcome, unless something was lost.
// vary is what the sides differ in.
func gateStatus(cmd *cobra.Command, outcome verdict.Outcome, lost []string, vary string) error {
	if len(lost) > 0 {
		return hinted(fmt.Errorf("no answer for %s: the new code has no figures for it", strings.Join(lost, ", ")), "the lines above say why")
	}
	switch outcome {
	case verdict.Regressed:
		bisectHint(cmd, vary)
		return exitRegressed
	case verdict.Inconclusive:
		return exitInconclusive
	}
	return nil
}

// bisectHint prints the line with which git finds the commit that regressed, if there are several
// commits between the sides.
func bisectHint(cmd *cobra.Command, vary string) {
	old, ofTree := strings.CutSuffix(strings.TrimPrefix(vary, "@"), ",@")
	if !ofTree || !cmd.Flags().Changed("against") {
		return
	}
	between, err := build.Output(cmd.Context(), "", "git", "rev-list", "--count", old+"..HEAD")
	if n, _ := strconv.Atoi(between); err != nil || n < 2 {
		return
	}
	again := []string{"postage", cmd.Name()}
	for _, argument := range cmd.Flags().Args() {
		again = append(again, quoted(argument))
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if !slices.Contains([]string{"against", "vary", "out", "html", "json", "markdown", "wide"}, f.Name) {
			again = append(again, quoted(strings.TrimSuffix("--"+f.Name+"="+strings.Trim(f.Value.String(), "[]"), "=true")))
		}
	})
	say(cmd, "to find the commit: git bisect start HEAD %.12s && git bisect run sh -c '%s --against=%.12s; code=$?; [ $code -lt 2 ] || code=125; exit $code'",
		old, strings.Join(again, " "), old)
}

// quoted quotes a word for the shell, within single quotes.
func quoted(word string) string {
	if strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=,:@%+") == "" {
		return word
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "`", "\\`", `$`, `\$`, `'`, `'\''`).Replace(word) + `"`
}

// writeFile makes a file of what write writes. If that fails, the file stays as it was.
func writeFile(name string, write func(io.Writer) error) error {
	var all bytes.Buffer
	if err := write(&all); err != nil {
		return err
	}
	// A device or a pipe is written to, and a link is followed, not replaced.
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return os.WriteFile(name, all.Bytes(), 0o644)
	}
	if err := record.Replace(name, &all); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
