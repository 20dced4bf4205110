"""The ``multiKueue.clusterProfile`` stanza: programs that get credentials for clusters told of by ClusterProfiles."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from worker_agent.setting_values import Stanza

ENVIRONMENT_NAME = r"^[^=\x00]+$"


class ExecEnvironment(Stanza):
    name: str = Field(pattern=ENVIRONMENT_NAME)
    value: str = Field(default="", repr=False)


def _without_terminal(value: str) -> str:
    if value == "Always":
        raise ValueError("must be Never or IfAvailable: there is no terminal to ask anybody at")
    return value


class ExecConfig(Stanza):
    """A credential plugin, as in the ``exec`` of a kubeconfig."""

    api_version: Literal["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"]
    command: str = Field(min_length=1)
    args: list[str] = []
    env: list[ExecEnvironment] = []
    install_hint: str = ""
    """What to do where the command is not there; it is added to the message."""
    provide_cluster_info: bool = False
    """The plugin is told of the cluster it is asked about, as the profile's ``cluster`` says."""
    interactive_mode: Annotated[Literal["Never", "IfAvailable", "Always"], AfterValidator(_without_terminal)] = "Never"


class AccessProvider(Stanza):
    name: str = Field(min_length=1)
    """As in ``status.accessProviders[].name`` of the ClusterProfiles."""
    exec_config: ExecConfig


class ClusterProfileStanza(Stanza):
    access_providers: list[AccessProvider] = []
    credentials_providers: list[AccessProvider] = []
    """The older name of ``accessProviders``."""

    @model_validator(mode="after")
    def _one_list_of_different_ones(self) -> Self:
        if self.access_providers and self.credentials_providers:
            raise ValueError(
                "accessProviders and credentialsProviders may not both be set; move all to accessProviders"
            )
        named = [provider.name for provider in self.providers]
        if len(set(named)) < len(named):
            raise ValueError(f"accessProviders[].name must be unique, found {', '.join(named)}")
        return self

    @property
    def providers(self) -> list[AccessProvider]:
        return self.access_providers or self.credentials_providers
