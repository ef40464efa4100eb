package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"postage/internal/sys/kube"
	"postage/record"
)

// repository is the repository's folder, from where tests of this package run.
const repository = ".."

// fenced returns the blocks of a Markdown text that are fenced with the language.
func fenced(t *testing.T, file, language string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, file))
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, block := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, block[1])
	}
	if len(blocks) == 0 {
		t.Fatalf("%s has no block of %s", file, language)
	}
	return blocks
}

// wordsOf splits a command line as a shell does, as far as the docs need it.
func wordsOf(line string) []string {
	var out []string
	for _, m := range regexp.MustCompile(`'([^']*)'|(\S+)`).FindAllStringSubmatch(line, -1) {
		out = append(out, m[1]+m[2])
	}
	return out
}

// shortened gives a run a budget that a test can afford, and leaves the rest as the reader types
// it.
func shortened(args []string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		switch args[i] {
		case "--budget", "--comparisons":
			i++
		case "--duration":
			i++
			out = append(out, "--duration", "300ms")
		default:
			out = append(out, args[i])
		}
	}
	if len(args) > 0 && (args[0] == "run" || args[0] == "bring") {
		out = append(out, "--budget", "4s")
	}
	if len(args) > 0 && args[0] == "bench" { // each benchmark is to have a block
		out = append(out, "--budget", "20s")
	}
	if len(args) > 1 && args[1] == "--calibrate" {
		out = append(out, "--comparisons", "1", "--budget", "90s")
	}
	return out
}

// accepted checks that a command lacks nothing but a cluster.
func accepted(t *testing.T, args []string) {
	t.Helper()
	var said strings.Builder
	code := postage.run(t.Context(), append(args[1:], "--kubeconfig", "/no cluster"), strings.NewReader(""), io.Discard, &said)
	if code != exitUsage || !strings.HasPrefix(said.String(), "postage: kubeconfig: stat /no cluster: ") {
		t.Errorf("%v: exit code %d, %s", args, code, &said)
	}
}

// The commands of docs/kubernetes.md that need a cluster lack nothing else.
func TestKubernetesCommands(t *testing.T) {
	checked := 0
	for _, block := range fenced(t, "docs/kubernetes.md", "") {
		for line := range strings.Lines(block) {
			if strings.HasPrefix(line, "postage load ") {
				accepted(t, wordsOf(strings.TrimSpace(line)))
				checked++
			}
		}
	}
	if checked < 1 {
		t.Error("found no command")
	}
}

// The Job of docs/kubernetes.md has only fields that Kubernetes knows, and runs rows that exist. It
// writes the record where the next container reads it.
func TestKubernetesJob(t *testing.T) {
	strict := serializer.NewCodecFactory(kube.Scheme, serializer.EnableStrict).UniversalDeserializer()
	object, _, err := strict.Decode([]byte(fenced(t, "docs/kubernetes.md", "yaml")[0]), nil, new(batchv1.Job))
	if err != nil {
		t.Fatal(err)
	}
	pod := object.(*batchv1.Job).Spec.Template.Spec
	args := pod.InitContainers[0].Args
	if code, _, stderr := command(append(slices.Clone(args), "--list")...); code != exitOK {
		t.Errorf("%v: exit %d: %s", args, code, stderr)
	}
	if out := args[slices.Index(args, "--out")+1]; !strings.Contains(pod.Containers[0].Command[2], " "+out+" ") {
		t.Errorf("%s is not what %q prints", out, pod.Containers[0].Command)
	}
}

// quick is a command as far as everybody's tests execute it: runs list their rows and do not
// measure them, and what builds programs or calibrates is left to POSTAGE_LONG.
func quick(args []string) (_ []string, ok bool) {
	switch {
	case args[0] == "run" && args[1] != "--resume":
		return append(args, "--list"), true
	case args[0] == "bench" || args[0] == "bring" || slices.Contains(args, "--calibrate"):
		return nil, false
	}
	return args, true
}

// Every command in the README is executed, in order. Runs get a budget of seconds, benchmarks one
// iteration. `go test work` is not: it runs this test. Without POSTAGE_LONG only quick ones are.
func TestReadmeCommands(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if !long() {
		if err := os.WriteFile(filepath.Join(folder, "tiny.txt"), recorded(t)["one.txt"], 0o666); err != nil {
			t.Fatal(err)
		}
	}
	root, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{ // the reader's own files
		"orders.ndjson":  `{"serial": 1, "lines": [{"title": "a", "price": 5}]}`,
		"shop.proto":     `syntax = "proto3"; message Order { int64 serial = 1; message Line { string title = 1; int64 price = 2; } repeated Line lines = 2; }`,
		"cpu.pprof":      string(cpuProfile(t, "encoding/json.Unmarshal")),
		"go.mod":         "module example.com/shop\n\ngo 1.25\n",
		"model/model.go": "package model\n\ntype Order struct {\n\tSerial int64\n\tLines []struct{ Title string; Price int64 }\n}\n",
	} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	executed := 0
	for _, block := range fenced(t, "README.md", "sh") {
		for line := range strings.Lines(block) {
			line, _, _ = strings.Cut(strings.TrimSpace(line), "  # ")
			args := wordsOf(line)
			if len(args) == 0 {
				continue
			}
			line = strings.TrimPrefix(line, "go run ./cmd/")
			executed++
			var cmd *exec.Cmd
			switch {
			case line == "go test work":
				continue
			case strings.HasPrefix(line, "go ") && !long():
				continue
			case line == "go install ./cmd/postage":
				cmd = exec.Command("go", "build", "-o", filepath.Join(folder, "bin"), "./cmd/postage")
				cmd.Dir = root
			case strings.Contains(line, " --kubernetes "): // needs a cluster
				accepted(t, args)
				continue
			case strings.HasPrefix(line, "postage "):
				args := shortened(wordsOf(line)[1:])
				if !long() {
					var ok bool
					if args, ok = quick(args); !ok {
						continue
					}
				}
				cmd = exec.Command(built(t), args...)
				cmd.Dir = folder
				if strings.HasPrefix(line, "postage bench ") {
					cmd.Dir = root
				}
			case strings.HasPrefix(line, "go test -bench"):
				cmd = exec.Command("go", append(args[1:], "-benchtime=1x", "-run=^$")...)
				cmd.Dir = root
			case strings.HasPrefix(line, "go run golang.org/x/perf/cmd/benchstat"):
				for i, arg := range args {
					if strings.HasSuffix(arg, ".txt") {
						args[i] = filepath.Join(folder, arg)
					}
				}
				cmd = exec.Command(args[0], args[1:]...)
				cmd.Dir = root
			default:
				t.Errorf("the README gives a command that this test does not know: %s", line)
				continue
			}
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", line, err, out)
			}
		}
	}
	if executed < 10 {
		t.Errorf("found only %d commands in the README", executed)
	}
}

// The workflow in docs/ci.md is carried out on a clone: its commands, in order, with the variables
// that the runner would set, and a budget of seconds.
func TestWorkflow(t *testing.T) {
	needLong(t, "builds postage twice")
	needRepository(t)
	folder := t.TempDir()
	clone := filepath.Join(folder, "clone")
	blocks := fenced(t, "docs/ci.md", "yaml")
	var workflow struct {
		Jobs map[string]struct{ Steps []struct{ Name, Run string } }
	}
	if err := yaml.Unmarshal([]byte(blocks[0]), &workflow); err != nil {
		t.Fatal(err)
	}
	script := "set -e\ncd " + clone + "\n"
	performed := 0
	for _, step := range workflow.Jobs["gate"].Steps {
		if step.Run != "" {
			performed++
			script += "(\n" + step.Run + ")\n"
		}
	}
	script = strings.NewReplacer("/tmp/postage", filepath.Join(folder, "postage"), "--budget 10m --precision 2%", "--budget 60s --precision 40%", "Encode/msg=order", "Encode/msg=tiny/op=encode/codec=json").Replace(script)
	for _, args := range [][]string{
		{"clone", "--quiet", repository, clone},
		{"-C", clone, "update-ref", "refs/remotes/origin/main", "HEAD"},
	} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	if err := os.MkdirAll(filepath.Join(clone, ".github"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(clone, ".github", "postage.yaml"), []byte(blocks[1]), 0o666); err != nil {
		t.Fatal(err)
	}
	summary := filepath.Join(folder, "summary.md")
	cmd := exec.Command("bash", "-c", script)
	// Without the folder's name in what is compiled, the second build finds the first's packages.
	cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath", "GITHUB_BASE_REF=main", "GITHUB_STEP_SUMMARY="+summary)
	out, err := cmd.CombinedOutput()
	// By chance the same code regresses once in many runs. There is always an answer.
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) || performed != 2 {
		t.Fatalf("%d steps: %v\n%s", performed, err, out)
	}
	for _, file := range []string{summary, filepath.Join(clone, "run.txt")} {
		if text, err := os.ReadFile(file); err != nil || len(text) == 0 {
			t.Errorf("%s: %d bytes, %v\n%s", file, len(text), err, out)
		}
	}
	// The two sides took turns, and the record says which commit the old one is.
	rec, err := record.Load(filepath.Join(clone, "run.txt"))
	if err != nil {
		t.Fatal(err)
	}
	old := strings.Trim(rec.Run.Vary, "@,")
	if len(old) < 40 || !regexp.MustCompile(`(?m)^json/\S*`+old[6:12]+` `).Match(out) || !bytes.Contains(bytes.Join(bytes.Fields(out), []byte(" ")), []byte("the same rounds")) {
		t.Errorf("revision %q:\n%s", old, out)
	}
	code, stdout, stderr := inFolder(t, clone, "compare", "run.txt", "--json")
	if code != 0 || !strings.Contains(stdout, `"anchor": "the same rounds"`) {
		t.Errorf("compare: exit %d\n%s%s", code, stdout, stderr)
	}
}

// actionlint finds no fault in our own GitHub workflows and in docs/ci.md's.
func TestGitHubWorkflows(t *testing.T) {
	t.Parallel()
	needLong(t, "builds actionlint")
	lint, err := exec.Command("go", "-C", filepath.Join(repository, "tools"), "tool", "-n", "actionlint").Output()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(folder, name)
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return name
	}
	args := []string{"-no-color", "-shellcheck="}
	wrong := write("wrong.yml", "on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: echo ${{ github.nothing }}\n")
	if out, err := exec.Command(strings.TrimSpace(string(lint)), append(args, wrong)...).CombinedOutput(); err == nil {
		t.Errorf("no fault found where there is one: %s", out)
	}
	args = append(args, filepath.Join(repository, ".github/workflows/ci.yml"))
	for i, block := range fenced(t, "docs/ci.md", "yaml") {
		if strings.Contains(block, "\njobs:\n") {
			args = append(args, write(fmt.Sprintf("block%d.yml", i), block))
		}
	}
	// The action's steps, as a job's with its inputs; and the action as a workflow names it.
	action, err := os.ReadFile(filepath.Join(repository, ".github/actions/bench/action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	_, steps, _ := strings.Cut(string(action), "\n  steps:\n")
	inputs := regexp.MustCompile(`(?m)^  (\w+):\n    description: .*\n    default: `).FindAllStringSubmatch(string(action), -1)
	job := "on:\n  workflow_call:\n    inputs:\n"
	for _, input := range inputs {
		job += "      " + input[1] + ":\n        type: string\n"
	}
	args = append(args, write("steps.yml", job+"jobs:\n  bench:\n    runs-on: ubuntu-latest\n    steps:\n  "+strings.ReplaceAll(steps, "\n", "\n  ")))
	if len(args) != 7 || len(inputs) != 8 {
		t.Errorf("three workflows in docs/ci.md, our own and the action, but: %v", args)
	}
	if out, err := exec.Command(strings.TrimSpace(string(lint)), args...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// The action's comment takes the place of its own earlier one, is cut to what GitHub takes, and has
// a pull request's number alone. A false gh says what it was asked.
func TestActionComments(t *testing.T) {
	folder := t.TempDir()
	const gh = "#!/bin/sh\necho \"$@\" >> \"$ASKED\"\ncase \"$*\" in *--jq*) echo \"$OLD\";; esac\n"
	if err := os.WriteFile(filepath.Join(folder, "gh"), []byte(gh), 0o777); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "postage-time.md")
	for _, of := range []struct {
		rows           int
		old, pr, asked string
	}{
		{1, "", "7", "--method POST repos/you/it/issues/7/comments -F body=@" + file},
		{1, "42", "7", "--method PATCH repos/you/it/issues/comments/42 -F body=@" + file},
		{2000, "", "7", "body=@" + file + ".cut"},
		{1, "", "", ""},
	} {
		asked := filepath.Join(t.TempDir(), "asked")
		text := "<!-- postage time -->\n" + strings.Repeat("| a row of a table, as wide as they are |\n", of.rows)
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(filepath.Join(repository, ".github/actions/bench/comment.sh"), file, of.pr)
		cmd.Env = append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH"), "GITHUB_REPOSITORY=you/it", "ASKED="+asked, "OLD="+of.old)
		out, err := cmd.CombinedOutput()
		said, _ := os.ReadFile(asked)
		if (err == nil) != (of.asked != "") || !strings.Contains(string(said), of.asked) || of.asked != "" && !strings.Contains(string(said), `startswith("<!-- postage time -->")`) {
			t.Errorf("%+v: %v\n%s%s", of, err, out, said)
		}
	}
	if cut, err := os.ReadFile(file + ".cut"); err != nil || len(cut) > 65_536 || !bytes.HasSuffix(cut, []byte("summary of the job.\n")) {
		t.Errorf("cut to %d bytes: %v", len(cut), err)
	}
}

// The program that the action builds compiles, and links no stage and nothing of a server's.
func TestBenchOnly(t *testing.T) {
	needRepository(t)
	out, err := exec.Command("go", "-C", repository, "list", "-tags", "benchonly", "-deps", "./cmd/postage").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, wrong := range []string{"postage/stage", "postage/load", "google.golang.org/grpc", "k8s.io/"} {
		if bytes.Contains(out, []byte("\n"+wrong)) {
			t.Errorf("it links %s", wrong)
		}
	}
	if out, err := exec.Command("go", "-C", repository, "build", "-tags", "benchonly", "-o", os.DevNull, "./cmd/postage").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// CONTRIBUTING.md is followed to the letter. Its two files lie over the repository's, so that only
// what imports them is compiled anew.
func TestContributing(t *testing.T) {
	needLong(t, "builds postage with a contender more")
	root, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	folder, changed := t.TempDir(), map[string]string{}
	write := func(path, text string) {
		changed[filepath.Join(root, path)] = filepath.Join(folder, filepath.Base(path))
		if err := os.WriteFile(filepath.Join(folder, filepath.Base(path)), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	code := fenced(t, "CONTRIBUTING.md", "go")
	write("stage/encode/jsonindent.go", code[0])
	text, err := os.ReadFile(filepath.Join(root, "stage/encode/suite.go"))
	if err != nil {
		t.Fatal(err)
	}
	const neighbour = "\t\t\tjsonV2(k.plain, generatedTags),\n"
	if !bytes.Contains(text, []byte(neighbour)) {
		t.Fatal("suite.go does not have the line that the new one goes after")
	}
	write("stage/encode/suite.go", strings.Replace(string(text), neighbour, neighbour+code[1], 1))
	overlay, err := json.Marshal(map[string]any{"Replace": changed})
	if err != nil {
		t.Fatal(err)
	}
	write("overlay.json", string(overlay))
	running := func(args ...string) string {
		cmd := exec.Command("go", append([]string{args[0], "-overlay=" + filepath.Join(folder, "overlay.json")}, args[1:]...)...)
		// Everybody's proofs: the longer ones run with that package.
		cmd.Dir, cmd.Env = root, append(os.Environ(), "POSTAGE_LONG=")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		stdout, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v\n%s%s", args, err, stdout, &stderr)
		}
		return string(stdout)
	}
	args := wordsOf(strings.TrimSpace(fenced(t, "CONTRIBUTING.md", "sh")[0]))
	args = append(args[1:3], append(shortened(args[3:]), "--out", filepath.Join(folder, "r.txt"))...)
	if out := running(args...); !regexp.MustCompile(`(?m)^json/\S*nt=yes +[0-9]`).MatchString(out) {
		t.Errorf("the new row has no figures:\n%s", out)
	}
	running("test", "./stage/encode", "-run", "Prove")
}

// docs/dependencies.md justifies every module that is required directly, and no others but the modules of
// generators.
func TestDependenciesAreJustified(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join(repository, "docs/dependencies.md"))
	if err != nil {
		t.Fatal(err)
	}
	direct := map[string]bool{}
	for _, folder := range []string{"", "pbfast", "pgbulk", "webpush"} {
		mod, err := os.ReadFile(filepath.Join(repository, folder, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(`(?m)^(?:\t|require )(\S+\.\S+) v\S+$`).FindAllStringSubmatch(string(mod), -1)
		if (len(found) == 0) != (folder == "webpush") { // which needs the standard library alone
			t.Errorf("%s/go.mod: the test found %d requirements in it", folder, len(found))
		}
		for _, m := range found {
			direct[m[1]] = true
		}
	}
	justified := map[string]bool{}
	reasons, _, _ := strings.Cut(string(doc), "\n## Versions held back\n")
	for _, m := range regexp.MustCompile(`(?m)^\| (\S+\.\S+) \| \S`).FindAllStringSubmatch(reasons, -1) {
		justified[m[1]] = true
	}
	for module := range direct {
		if !justified[module] {
			t.Errorf("%s is required but not in docs/dependencies.md", module)
		}
	}
	for module := range justified {
		if !direct[module] && exec.Command("git", "-C", repository, "grep", "-q", "^//go:generate .*go run "+module+"/").Run() != nil {
			t.Errorf("%s is in docs/dependencies.md but not required, nor run by go generate", module)
		}
	}
}
