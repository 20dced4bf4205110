"""What the tests apply."""

JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  suspend: true
  parallelism: 2
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: main, image: busybox, resources: {requests: {cpu: "1", memory: 1Gi}}}
"""

CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gadgets, kind: Gadget, shortNames: [gd]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    additionalPrinterColumns:
    - {name: Size, type: integer, jsonPath: .spec.size}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            description: What the gadget is to be.
            properties:
              size: {type: integer, minimum: 1, default: 3, description: How big it is.}
            x-kubernetes-validations:
            - {rule: "self.size < 100", message: too big}
          status:
            type: object
            properties: {phase: {type: string}}
"""

GADGET = """
apiVersion: example.com/v1
kind: Gadget
metadata: {name: g}
spec: {}
"""
