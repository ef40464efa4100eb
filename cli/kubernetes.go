package cli

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"postage/internal/service/kubernetes"
)

// kubernetesCommand prepares the image that runs on Kubernetes.
func kubernetesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "kubernetes", Short: "Make the container image that workers on Kubernetes run", Args: noOther("image"),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var program, name string
	image := &cobra.Command{
		Use:   "image ARCHIVE",
		Short: "Write the container image as an OCI archive, without a daemon",
		Long: `Image writes an OCI archive with one program, postage, and this machine's certificate authorities.
The program has to be linked statically: CGO_ENABLED=0 go build ./cmd/postage.`,
		Example: `  postage kubernetes image postage.tar
  skopeo copy oci-archive:postage.tar docker://registry.example/postage:1
  ctr -n k8s.io images import postage.tar   where there is no registry`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) (err error) {
			if program == "" {
				if program, err = os.Executable(); err != nil {
					return err
				}
			}
			file, err := os.Create(args[0])
			if err != nil {
				return err
			}
			if err := errors.Join(kubernetes.WriteImage(file, name, program), file.Close()); err != nil {
				return errors.Join(err, os.Remove(args[0]))
			}
			return nil
		},
	}
	image.Flags().StringVar(&program, "program", "", "the `file` of another postage, such as one for another architecture (default this one)")
	image.Flags().StringVar(&name, "name", "docker.io/library/postage:latest", "the image's `name`")
	cmd.AddCommand(image)
	return cmd
}
