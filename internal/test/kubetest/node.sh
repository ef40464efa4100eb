# The node's programs, in namespaces of their own for processes and mounts: the end of this shell is the end of all
# that they start, pods included, and nothing is left mounted. A program that ends is started again.
set -eu
dir=$1 program=$2 address=$3 name=$4
cd "$dir"
mount -t proc proc /proc
for folder in /run/containerd /var/lib/kubelet /var/lib/cni /var/log/containers; do
	mkdir -p "$folder"
	mount -t tmpfs none "$folder"
done
keep() { # NAME COMMAND...
	log=$dir/log/$1
	shift
	while :; do
		"$@" >>"$log" 2>&1 || :
		sleep 0.3
	done
}
keep apiserver "$program" apiserver --etcd-dir="$dir/etcd" --bind-address="$address" --secure-port=443 \
	--service-cluster-ip-range="${address%.*}.0/24" --tls-cert-file="$dir/server.crt" --tls-private-key-file="$dir/server.key" \
	--service-account-key-file="$dir/server.crt" --service-account-signing-key-file="$dir/server.key" \
	--service-account-issuer=https://postage.invalid --token-auth-file="$dir/tokens.csv" --authorization-mode=RBAC &
keep controllers "$program" controllers --kubeconfig="$dir/kubeconfig" --leader-elect=false --secure-port=0 \
	--service-account-private-key-file="$dir/server.key" --root-ca-file="$dir/server.crt" --node-monitor-grace-period=20s \
	--controllers=job-controller,pod-garbage-collector-controller,garbage-collector-controller,node-lifecycle-controller,namespace-controller,ttl-after-finished-controller,serviceaccount-controller,root-ca-certificate-publisher-controller,resourcequota-controller &
keep scheduler "$program" scheduler --kubeconfig="$dir/kubeconfig" --leader-elect=false --secure-port=0 &
keep containerd containerd --config "$dir/containerd.toml" &
keep kubelet "$program" kubelet --config="$dir/kubelet.yaml" --kubeconfig="$dir/kubeconfig" --hostname-override="$address" \
	--root-dir="$dir/kubelet" --cert-dir="$dir/kubelet/pki" &
wait
