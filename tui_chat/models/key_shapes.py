"""The shapes of keys and tokens of well-known services."""

from __future__ import annotations

import re
from collections.abc import Iterator

_KEY = re.compile(
    r"""(?<![A-Za-z0-9])(?:
      sk-[\w-]{20,300}+                    # OpenAI, Anthropic, OpenRouter, DeepSeek, LiteLLM
    | pk-lf-[\w-]{20,80}+                  # Langfuse, whose secret ones start with sk-lf-
    | AIza[\w-]{35} | ya29\.[\w-]{20,500}+ | GOCSPX-[\w-]{20,40}+   # Google
    | (?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}  # AWS
    | gh[pousr]_[A-Za-z0-9]{36,255}+ | github_pat_\w{40,255}+       # GitHub
    | gl(?:pat|dt|rt|ptt|ft|agent|cbt|soat|imt)-[\w.-]{20,100}+     # GitLab
    | xox[abeoprs]-[\w-]{10,250}+ | xapp-\d-[\w-]{20,200}+          # Slack
    | (?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,200}+ | whsec_\w{24,100}+  # Stripe
    | hf_[A-Za-z0-9]{30,60}+ | gsk_[A-Za-z0-9]{40,80}+ | xai-[A-Za-z0-9]{60,100}+
    | pplx-[A-Za-z0-9]{40,80}+ | r8_[A-Za-z0-9]{30,60}+ | nvapi-[\w-]{40,100}+
    | csk-[a-z0-9]{40,80}+ | tgp_v1_[\w-]{30,80}+ | fw_[A-Za-z0-9]{20,60}+
    | tvly-[A-Za-z0-9-]{20,60}+ | lsv2_[ps][tk]_[a-f0-9]{32}_[a-f0-9]{10}
    | npm_[A-Za-z0-9]{36} | pypi-[\w-]{50,300}+ | rubygems_[a-f0-9]{48} | dckr_pat_[\w-]{27}
    | do[opr]_v1_[a-f0-9]{64} | dapi[a-f0-9]{32} | SG\.[\w-]{16,32}\.[\w-]{16,64}
    | shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32} | lin_api_\w{32,64}+ | ntn_\w{40,64}+
    | hv[sb]\.[\w-]{24,300}+ | sbp_[a-f0-9]{40} | key-[a-f0-9]{32} | glsa_\w{32,60}+
    | sntry[su]_[\w+/=-]{40,300}+ | figd_[\w-]{40,60}+ | PMAK-[a-f0-9]{24}-[a-f0-9]{34}
    | \d{8,10}:AA[\w-]{33} | ops_eyJ[\w+/=-]{200,2000}+ | AGE-SECRET-KEY-1[A-Z0-9]{58}
    | eyJ[\w-]{8,4000}+\.[\w-]{8,8000}+(?:\.[\w-]{0,4000}+)?        # JSON Web Tokens
    )""",
    re.VERBOSE | re.ASCII,
)


def keys_in(text: str) -> Iterator[re.Match[str]]:
    """Yield what looks like a key: it begins like one, and has digits and many characters."""
    for found in _KEY.finditer(text):
        if any(map(str.isdigit, found[0])) and len(set(found[0])) >= 10:
            yield found
