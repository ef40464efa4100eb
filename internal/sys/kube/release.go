package kube

import (
	_ "embed"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ReleaseVersion is the group and version of [Release].
var ReleaseVersion = schema.GroupVersion{Group: "postage.example", Version: "v1"}

// Releases are custom resources: the server knows them once [ReleaseDefinition] is created.
var Releases = kind[Release, ReleaseList](ReleaseVersion, "releases")

// ReleaseDefinition is the CustomResourceDefinition of releases, in YAML.
//
//go:embed release.yaml
var ReleaseDefinition []byte

// Release is a custom resource like users' own: what is to run, and what does. Its fields resemble
// an Application of Argo CD, where the status is no subresource either.
type Release struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ReleaseSpec   `json:"spec"`
	Status ReleaseStatus `json:"status,omitempty"`
}

// ReleaseList is a list of releases.
type ReleaseList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Release `json:"items"`
}

// ReleaseSpec is what is to run.
type ReleaseSpec struct {
	Project           string             `json:"project"`
	Source            ReleaseSource      `json:"source"`
	Destination       ReleaseDestination `json:"destination"`
	Sync              ReleaseSync        `json:"sync"`
	IgnoreDifferences []ReleaseIgnored   `json:"ignoreDifferences,omitempty"`
	HistoryLimit      int64              `json:"historyLimit"`
}

// ReleaseSource is where the manifests come from.
type ReleaseSource struct {
	RepoURL    string             `json:"repoURL"`
	Path       string             `json:"path"`
	Revision   string             `json:"revision"`
	Values     string             `json:"values,omitempty"`
	Parameters []ReleaseParameter `json:"parameters,omitempty"`
}

// ReleaseParameter is a value that the manifests are filled in with.
type ReleaseParameter struct {
	Name        string `json:"name"`
	Value       string `json:"value"`
	ForceString bool   `json:"forceString"`
}

// ReleaseDestination is where the manifests go.
type ReleaseDestination struct {
	Server    string `json:"server"`
	Namespace string `json:"namespace"`
}

// ReleaseSync is when the manifests are applied.
type ReleaseSync struct {
	Prune    bool         `json:"prune"`
	SelfHeal bool         `json:"selfHeal"`
	Options  []string     `json:"options,omitempty"`
	Retry    ReleaseRetry `json:"retry"`
}

// ReleaseRetry is how often a failed sync is tried again.
type ReleaseRetry struct {
	Limit       int64  `json:"limit"`
	Duration    string `json:"duration"`
	Factor      int64  `json:"factor"`
	MaxDuration string `json:"maxDuration"`
}

// ReleaseIgnored are fields that others may change.
type ReleaseIgnored struct {
	Group        string   `json:"group"`
	Kind         string   `json:"kind"`
	JSONPointers []string `json:"jsonPointers"`
}

// ReleaseStatus is what runs.
type ReleaseStatus struct {
	ObservedGeneration int64              `json:"observedGeneration"`
	Phase              string             `json:"phase,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
	Resources          []ReleaseResource  `json:"resources,omitempty"`
	History            []ReleaseRevision  `json:"history,omitempty"`
	Images             []string           `json:"images,omitempty"`
}

// ReleaseResource is one object that the manifests make.
type ReleaseResource struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Status  string `json:"status"`
	Health  string `json:"health"`
	Wave    int64  `json:"wave"`
}

// ReleaseRevision is what ran once.
type ReleaseRevision struct {
	ID         int64       `json:"id"`
	Revision   string      `json:"revision"`
	DeployedAt metav1.Time `json:"deployedAt"`
	Source     string      `json:"source"`
}

// DeepCopyObject returns a copy that shares nothing, by way of JSON: no request needs one.
func (r *Release) DeepCopyObject() runtime.Object { return copied(r) }

// DeepCopyObject returns a copy that shares nothing, by way of JSON: no request needs one.
func (l *ReleaseList) DeepCopyObject() runtime.Object { return copied(l) }

func copied[T any](from *T) *T {
	to := new(T)
	text, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil {
		panic(err) // these types have no values that JSON lacks
	}
	return to
}

func addReleases(s *runtime.Scheme) error {
	s.AddKnownTypes(ReleaseVersion, &Release{}, &ReleaseList{})
	metav1.AddToGroupVersion(s, ReleaseVersion)
	return nil
}
