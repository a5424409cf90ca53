// SPDX-License-Identifier: GPL-2.0

// kubernetes-types compares what the project has for Kubernetes with Kubernetes' own types.
//
//	kubernetes-types manifests FILE...         each document is of its type, no field is unknown
//	kubernetes-types plugin DIR MOUNT PLUGIN   the device plugin's messages, in the kubelet's
//	                                           words; MOUNT is served, DIR is for sockets
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	plugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	"sigs.k8s.io/yaml"
)

const patience = 60 * time.Second

func must(err error, what string) {
	if err != nil {
		fmt.Printf("%s: %v\n", what, err)
		os.Exit(1)
	}
}

func mustBe(right bool, what string, seen any) {
	if !right {
		must(fmt.Errorf("%+v", seen), what)
	}
}

// checkPod looks at what the server would refuse of a pod, and at what would not start.
func checkPod(pod corev1.PodSpec, where string) {
	volumes := map[string]bool{}
	for _, volume := range pod.Volumes {
		volumes[volume.Name] = true
	}
	for _, container := range pod.Containers {
		mustBe(container.Image != "", where+": no image", container)
		for _, mount := range container.VolumeMounts {
			mustBe(volumes[mount.Name], where+": no such volume", mount)
			switch propagation := mount.MountPropagation; {
			case propagation == nil,
				*propagation == corev1.MountPropagationHostToContainer:
			case *propagation == corev1.MountPropagationBidirectional:
				security := container.SecurityContext
				mustBe(security != nil && *security.Privileged,
					where+": not privileged", mount)
			default:
				mustBe(false, where+": propagation", *propagation)
			}
		}
	}
}

func checkDocument(text, where string) {
	var kind metav1.TypeMeta
	must(yaml.Unmarshal([]byte(text), &kind), where)
	switch kind.APIVersion + " " + kind.Kind {
	case "apps/v1 DaemonSet":
		var set appsv1.DaemonSet
		must(yaml.UnmarshalStrict([]byte(text), &set), where)
		selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
		must(err, where)
		matches := selector.Matches(labels.Set(set.Spec.Template.Labels))
		mustBe(!selector.Empty() && matches, where+": selector", selector)
		checkPod(set.Spec.Template.Spec, where)
	case "v1 Pod":
		var pod corev1.Pod
		must(yaml.UnmarshalStrict([]byte(text), &pod), where)
		checkPod(pod.Spec, where)
	default:
		mustBe(false, where+": kind", kind)
	}
}

func checkManifests(files []string) {
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(err, file)
		for number, document := range strings.Split(string(text), "\n---\n") {
			where := fmt.Sprintf("%s, document %d", filepath.Base(file), number+1)
			checkDocument(document, where)
			fmt.Println("ok", where)
		}
	}
}

// kubelet is the server that plugins register with.
type kubelet struct {
	plugin.UnimplementedRegistrationServer
	registered chan *plugin.RegisterRequest
}

func (k kubelet) Register(_ context.Context, request *plugin.RegisterRequest) (
	*plugin.Empty, error) {
	k.registered <- request
	return &plugin.Empty{}, nil
}

func checkPlugin(directory, mount, program string) {
	listener, err := net.Listen("unix", filepath.Join(directory, "kubelet.sock"))
	must(err, "listening")
	server := grpc.NewServer()
	registered := make(chan *plugin.RegisterRequest, 2)
	plugin.RegisterRegistrationServer(server, kubelet{registered: registered})
	go server.Serve(listener)
	command := exec.Command(program, "--mount", mount, "--kubelet", directory,
		"--contexts", "2")
	command.Stderr = os.Stderr
	must(command.Start(), program)
	defer command.Process.Kill()

	limit, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var request *plugin.RegisterRequest
	select {
	case request = <-registered:
	case <-limit.Done():
		mustBe(false, "it does not register", nil)
	}
	mustBe(request.Version == plugin.Version && request.ResourceName == "anybinder.dev/binder",
		"registration", request)
	fmt.Println("ok registration")
	talk(limit, "unix://"+filepath.Join(directory, request.Endpoint), mount)
}

func talk(limit context.Context, address, mount string) {
	credentials := grpc.WithTransportCredentials(insecure.NewCredentials())
	connection, err := grpc.NewClient(address, credentials)
	must(err, address)
	client := plugin.NewDevicePluginClient(connection)
	options, err := client.GetDevicePluginOptions(limit, &plugin.Empty{})
	must(err, "options")
	mustBe(options.PreStartRequired && !options.GetPreferredAllocationAvailable,
		"options", options)
	fmt.Println("ok options")

	lists, err := client.ListAndWatch(limit, &plugin.Empty{})
	must(err, "list")
	list, err := lists.Recv()
	must(err, "list")
	mustBe(len(list.Devices) == 2 && list.Devices[1].ID == "pod1" &&
		list.Devices[1].Health == plugin.Healthy, "list", list)
	fmt.Println("ok list")

	given, err := client.Allocate(limit, &plugin.AllocateRequest{
		ContainerRequests: []*plugin.ContainerAllocateRequest{
			{DevicesIDs: []string{"pod1"}},
		},
	})
	must(err, "allocation")
	mustBe(len(given.ContainerResponses) == 1, "allocation", given)
	one := given.ContainerResponses[0]
	paths := map[string]*plugin.Mount{}
	for _, bind := range one.Mounts {
		paths[bind.ContainerPath] = bind
	}
	binder := paths["/dev/binder"]
	mustBe(binder != nil && binder.HostPath == filepath.Join(mount, "pod1-binder") &&
		!binder.ReadOnly, "binder", one)
	features := paths["/dev/binderfs/features"]
	mustBe(features != nil && features.ReadOnly && len(one.Mounts) == 8, "mounts", one)
	fmt.Println("ok allocation")

	_, err = client.PreStartContainer(limit, &plugin.PreStartContainerRequest{
		DevicesIDs: []string{"pod1"},
	})
	must(err, "before the start")
	fmt.Println("ok before the start")
}

func main() {
	if len(os.Args) == 5 && os.Args[1] == "plugin" {
		checkPlugin(os.Args[2], os.Args[3], os.Args[4])
	} else {
		mustBe(len(os.Args) > 2 && os.Args[1] == "manifests", "usage", os.Args)
		checkManifests(os.Args[2:])
	}
}
