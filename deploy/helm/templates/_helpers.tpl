{{- /* The name of all objects: that of the release, which should say outbox. */ -}}
{{- define "outbox.name" -}}
{{- if contains "outbox" .Release.Name }}{{ .Release.Name }}{{ else }}{{ printf "%s-outbox" .Release.Name }}{{ end }}
{{- end }}

{{- /* What finds the pods of this release, and never changes. */ -}}
{{- define "outbox.pods" -}}
app.kubernetes.io/name: outbox
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "outbox.labels" -}}
{{ include "outbox.pods" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "outbox.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
{{- end }}

{{- /* Of both pods. */ -}}
{{- define "outbox.pod" -}}
automountServiceAccountToken: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- /* Of both containers. */ -}}
{{- define "outbox.container" -}}
image: {{ include "outbox.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
volumeMounts:
  - { name: settings, mountPath: /etc/outbox, readOnly: true }
  {{- with .Values.volumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
