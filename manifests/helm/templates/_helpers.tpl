{{/* agent or hub */}}
{{- define "fedhub.program" -}}
{{- trimPrefix "fedhub-" .Chart.Name -}}
{{- end -}}

{{- define "fedhub.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "fedhub.selectorLabels" -}}
app.kubernetes.io/name: {{ include "fedhub.fullname" . }}
{{- end -}}

{{- define "fedhub.labels" -}}
{{ include "fedhub.selectorLabels" . }}
app.kubernetes.io/part-of: fedhub
{{- end -}}

{{- define "fedhub.image" -}}
{{- with .Values.controllerManager.manager.image -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* A file of the manifests with the names and the namespace of this release, each of which may contain the other's. */}}
{{- define "fedhub.renamed" -}}
{{- $name := include "fedhub.fullname" .root -}}
{{- .text | replace "fedhub-system" "@namespace@" | replace .root.Chart.Name $name | replace "@namespace@" .root.Release.Namespace -}}
{{- end -}}

{{/* Where cert-manager finds the CA of what a Service of this release shows. */}}
{{- define "fedhub.certificate" -}}
{{- printf "%s/%s-%s-cert" .root.Release.Namespace (include "fedhub.fullname" .root) .service -}}
{{- end -}}
