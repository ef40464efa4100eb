package apply

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"postage/internal/service/apiserver"
	"postage/internal/sys/kube"
)

// release is a custom resource of 4 KB as JSON, most of it status.
func release(meta metav1.ObjectMeta) object {
	began := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	r := &kube.Release{ObjectMeta: meta, Spec: kube.ReleaseSpec{
		Project: "shop",
		Source: kube.ReleaseSource{
			RepoURL: "https://git.example/shop/deploy.git", Path: "charts/checkout", Revision: "v2.14.3",
			Values: "replicas: 3\nimage:\n  repository: registry.example/shop/checkout\n  pullPolicy: IfNotPresent\nresources:\n  requests: {cpu: 100m, memory: 128Mi}\n",
		},
		Destination:       kube.ReleaseDestination{Server: "https://kubernetes.default.svc", Namespace: "shop"},
		Sync:              kube.ReleaseSync{Prune: true, SelfHeal: true, Options: []string{"CreateNamespace=true", "ServerSideApply=true"}, Retry: kube.ReleaseRetry{Limit: 5, Duration: "5s", Factor: 2, MaxDuration: "3m0s"}},
		IgnoreDifferences: []kube.ReleaseIgnored{{Group: "apps", Kind: "Deployment", JSONPointers: []string{"/spec/replicas"}}},
		HistoryLimit:      10,
	}, Status: kube.ReleaseStatus{
		ObservedGeneration: 7, Phase: "Succeeded",
		Images: []string{"registry.example/shop/checkout:2.14.3", "registry.example/shop/migrate:2.14.3"},
	}}
	for i, name := range []string{"image.tag", "ingress.host", "ingress.tls", "replicas", "log.level", "database.pool"} {
		r.Spec.Source.Parameters = append(r.Spec.Source.Parameters, kube.ReleaseParameter{Name: name, Value: "value-" + name, ForceString: i%2 == 0})
	}
	for _, kind := range []string{"Synced", "Healthy", "Progressing"} {
		r.Status.Conditions = append(r.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, ObservedGeneration: 7, LastTransitionTime: began,
			Reason: "Reconciled", Message: "The objects are as revision v2.14.3 describes them."})
	}
	for i, kind := range []string{"Service", "ConfigMap", "Secret", "ServiceAccount", "Deployment", "HorizontalPodAutoscaler", "Ingress", "PodDisruptionBudget", "Job", "NetworkPolicy"} {
		r.Status.Resources = append(r.Status.Resources, kube.ReleaseResource{Group: "apps", Version: "v1", Kind: kind, Name: "checkout-" + strings.ToLower(kind), Status: "Synced", Health: "Healthy", Wave: int64(i)})
	}
	for i := range int64(5) {
		r.Status.History = append(r.Status.History, kube.ReleaseRevision{ID: 40 + i, Revision: strings.Repeat("5f3a9c", 6) + fmt.Sprint(1000+i), DeployedAt: began, Source: r.Spec.Source.RepoURL})
	}
	return r
}

// noProtobuf is why there is no custom resource in protobuf.
const noProtobuf = "the server knows a custom resource by its schema alone, which has no protobuf: it answers HTTP 415"

// installReleases has the server serve custom resources, which takes it some tenths of a second.
func installReleases(ctx context.Context, r *apiserver.Reach) error {
	config, err := r.Config()
	if err != nil {
		return err
	}
	raw, err := openRaw(ctx, config)
	if err != nil {
		return err
	}
	defer raw.close()
	const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	status, text, err := raw.ask(ctx, http.MethodPost, definitions, runtime.ContentTypeYAML, runtime.ContentTypeJSON, kube.ReleaseDefinition)
	if err != nil || status != http.StatusCreated {
		return fmt.Errorf("create the definition of releases: HTTP %d: %s: %w", status, text, err)
	}
	k := kindByName("release")
	for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
		if status, _, err = raw.ask(ctx, http.MethodGet, k.collection(r.Namespace), "", runtime.ContentTypeJSON, nil); err != nil || status == http.StatusOK {
			return err
		}
	}
	return errors.New("the server does not serve releases, whose definition it has taken")
}
