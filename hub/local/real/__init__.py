"""Real control planes for a local federation: etcd and kube-apiserver, and the controllers Jobs need, on loopback.

They hold the embedded API server to what Kubernetes does: the same suites, the same demo run on either. Nodes are
simulated on both. In reading order: ``binaries`` where the programs are, ``files`` certificates and kubeconfigs,
``components`` their command lines, ``control_plane`` which starts and stops them, ``seed`` what many of them begin
with, ``cluster_process`` one cluster of a federation as a process.
"""
