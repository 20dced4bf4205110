// Command controlplane is a Kubernetes control plane in one program: it acts as the component by whose name it is
// called. One binary shares the code of four, which is what makes building it from modules bearable.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	components := map[string]func() *cobra.Command{
		"kube-apiserver":          apiserver.NewAPIServerCommand,
		"kube-controller-manager": controllermanager.NewControllerManagerCommand,
		"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	}
	called := filepath.Base(os.Args[0])
	if called == "etcd" {
		etcdmain.Main(os.Args)
		return
	}
	component, known := components[called]
	if !known {
		fmt.Fprintf(os.Stderr, "%s: call this program by a link named etcd, kube-apiserver, "+
			"kube-controller-manager or kube-scheduler\n", called)
		os.Exit(2)
	}
	os.Exit(cli.Run(component()))
}
