// SPDX-License-Identifier: Apache-2.0
#include "core/scrub/rules.h"

#include <array>

// The part between name and value: password = , "token":, API_KEY=>, headers["x-api-key"] =, ("secret", ...
#define AGENTD_ASSIGN R"re([\w.-]{0,40}\\*["']?\]?\s{0,8}(?:=>|:=|===?|[=:,])\s{0,8}\\*["'`]?)re"
// The body of a key between its dashes; two dashes in a row end it, so that it stays short.
#define AGENTD_BODY R"re((?:[^-]|-[^-]))re"
#define AGENTD_BASE64_LINES                                     \
  R"re((?:(?:[\s"'>|,+]|\\[nrt]){0,40}[A-Za-z0-9+/=]{20,})+)re" \
  R"re((?:(?:[\s"'>|,+]|\\[nrt]){0,40}[A-Za-z0-9+/]{1,}={1,2})?)re"
// The end of an unquoted value.
#define AGENTD_END R"re((?:[\s;&"'`,|)<>}\]]|\\[nrt]|\z))re"
#define AGENTD_UUID R"re([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})re"

namespace agentd {
namespace {

using Left = ScrubLeft;
using Check = ScrubCheck;

constexpr ScrubRuleSpec kRules[] = {
    // ---- keys in files
    {.id = "gcp-service-account",
     .anchors = "private_key",
     .pattern = R"re(private_key\\*"\s*:\s*\\*"(-----BEGIN PRIVATE KEY-----)re" AGENTD_BODY
                R"re(*-----END PRIVATE KEY-----(?:\\+n)?))re",
     .spans = true},
    {.id = "gcp-service-account",
     .anchors = "private_key_id",
     .pattern = R"re(private_key_id\\*["']?\s*[:=]\s*\\*["']?([0-9a-f]{40})(?:[^0-9a-f]|\z))re"},
    {.id = "ssh-private-key",
     .anchors = "-----BEGIN",
     .pattern = R"re(-----BEGIN OPENSSH PRIVATE KEY-----)re" AGENTD_BODY R"re(*?[A-Za-z0-9+/=]{20})re" AGENTD_BODY
                R"re(*-----END OPENSSH PRIVATE KEY-----)re",
     .left = Left::kAny,
     .spans = true},
    {.id = "ssh-private-key",
     .anchors = "-----BEGIN",
     .pattern = R"re(-----BEGIN OPENSSH PRIVATE KEY-----)re" AGENTD_BASE64_LINES,
     .left = Left::kAny,
     .spans = true},
    {.id = "ssh-private-key",
     .anchors = "BEGIN SSH2",
     .pattern = R"re(BEGIN SSH2 (?:ENCRYPTED )?PRIVATE KEY ----\s()re" AGENTD_BODY
                R"re(*?[A-Za-z0-9+/=]{20})re" AGENTD_BODY R"re(*))re",
     .spans = true},
    {.id = "ssh-private-key",
     .anchors = "Private-Lines:",
     .pattern = R"re(Private-Lines: \d{1,4}(?:\s|\\[nr])+((?:[A-Za-z0-9+/=]{4,64}(?:\s|\\[nr])+)+))re",
     .spans = true},
    {.id = "pgp-private-key",
     .anchors = "-----BEGIN",
     .pattern = R"re(-----BEGIN PGP PRIVATE KEY BLOCK-----)re" AGENTD_BODY R"re(*?[A-Za-z0-9+/=]{20})re" AGENTD_BODY
                R"re(*-----END PGP PRIVATE KEY BLOCK-----)re",
     .left = Left::kAny,
     .spans = true},
    {.id = "private-key",
     .anchors = "-----BEGIN",
     .pattern = R"re(-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----)re" AGENTD_BODY
                R"re(*?[A-Za-z0-9+/=]{20})re" AGENTD_BODY
                R"re(*-----END (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----)re",
     .left = Left::kAny,
     .spans = true},
    // A key whose end was cut off.
    {.id = "private-key",
     .anchors = "-----BEGIN",
     .pattern = R"re(-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----)re"
                R"re((?:(?:\s|\\[nrt])*[A-Z][A-Za-z-]{1,20}: [^\n\\]{1,80})*)re" AGENTD_BASE64_LINES,
     .left = Left::kAny,
     .spans = true},
    {.id = "age-secret-key", .anchors = "AGE-SECRET-KEY-1", .pattern = R"re(AGE-SECRET-KEY-1[A-Z0-9]{58})re"},

    // ---- clouds
    {.id = "aws-access-key",
     .anchors = "AKIA ASIA ABIA ACCA",
     .pattern = R"re(((?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16})(?:[^A-Za-z0-9]|\z))re"},
    {.id = "aws-secret-key",
     .anchors = "secret",
     .pattern = R"re(secret[_ .-]?(?:access[_ .-]?)?key\\*["']?\]?\s{0,8}(?:=>|:=|[=:,])\s{0,8})re"
                R"re(\\*["']?([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|\z))re",
     .left = Left::kAny,
     .check = Check::kMixed,
     .any_case = true},
    {.id = "google-api-key", .anchors = "AIza", .pattern = R"re((AIza[A-Za-z0-9_-]{35})(?:[^A-Za-z0-9_-]|\z))re"},
    {.id = "google-oauth",
     .anchors = "GOCSPX- ya29. 1//0",
     .pattern = R"re((?:GOCSPX-[A-Za-z0-9_-]{24,}|ya29\.[A-Za-z0-9_.-]{20,}|1//0[A-Za-z0-9_-]{40,}))re"},
    {.id = "azure-storage-key",
     .anchors = "AccountKey= SharedAccessKey=",
     .pattern = R"re((?:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{40,}={0,2}))re",
     .left = Left::kAny},
    {.id = "azure-sas",
     .anchors = "sig=",
     .pattern = R"re(sig=([A-Za-z0-9+/]*(?:%[0-9A-Fa-f]{2}[A-Za-z0-9+/]*){1,20}|[A-Za-z0-9+/]{43}=))re",
     .left = Left::kParameter,
     .check = Check::kMixed},
    {.id = "azure-client-secret",
     .anchors = "0Q~ 1Q~ 2Q~ 3Q~ 4Q~ 5Q~ 6Q~ 7Q~ 8Q~ 9Q~",
     .pattern = R"re(([A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34})(?:[^A-Za-z0-9_~.-]|\z))re",
     .before = 3},
    {.id = "digitalocean-token", .anchors = "dop_v1_ doo_v1_ dor_v1_", .pattern = R"re(do[opr]_v1_[0-9a-f]{64})re"},
    {.id = "heroku-key", .anchors = "HRKU-", .pattern = R"re(HRKU-[A-Za-z0-9_-]{30,})re"},
    {.id = "heroku-key",
     .anchors = "heroku",
     .pattern = R"re(heroku)re" AGENTD_ASSIGN R"re(()re" AGENTD_UUID R"re())re",
     .left = Left::kAny,
     .any_case = true,
     .assigned = true},
    {.id = "vault-token", .anchors = "hvs. hvb. hvr.", .pattern = R"re(hv[sbr]\.[A-Za-z0-9_-]{24,})re"},
    {.id = "vault-token",
     .anchors = "vault_token",
     .pattern = R"re(vault_token)re" AGENTD_ASSIGN R"re((s\.[A-Za-z0-9]{24})(?:[^A-Za-z0-9]|\z))re",
     .left = Left::kAny,
     .any_case = true,
     .assigned = true},
    {.id = "terraform-token",
     .anchors = ".atlasv1.",
     .pattern = R"re([A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,})re",
     .before = 14},
    {.id = "cloudflare-key",
     .anchors = "v1.0-",
     .pattern = R"re((v1\.0-[0-9a-f]{24}-[0-9a-f]{146})(?:[^A-Za-z0-9]|\z))re"},
    {.id = "tailscale-key",
     .anchors = "tskey-",
     .pattern = R"re(tskey-[a-z]{3,10}-[A-Za-z0-9]{8,}-[A-Za-z0-9]{20,})re"},
    {.id = "supabase-key",
     .anchors = "sbp_ sb_secret_",
     .pattern = R"re(((?:sbp_[0-9a-f]{40}|sb_secret_[A-Za-z0-9_-]{22,}))(?:[^A-Za-z0-9_-]|\z))re"},
    {.id = "netlify-token", .anchors = "nfp_", .pattern = R"re((nfp_[A-Za-z0-9]{36,})(?:[^A-Za-z0-9]|\z))re"},
    {.id = "fly-token", .anchors = "fm2_ fm1r_ fo1_", .pattern = R"re((?:fm2_|fm1r_|fo1_)[A-Za-z0-9+/_=-]{40,})re"},
    {.id = "databricks-token", .anchors = "dapi", .pattern = R"re((dapi[0-9a-f]{32}(?:-\d)?)(?:[^A-Za-z0-9]|\z))re"},

    // ---- code hosting and registries
    {.id = "github-token", .anchors = "ghp_ gho_ ghu_ ghs_ ghr_", .pattern = R"re(gh[pousr]_[A-Za-z0-9]{36,})re"},
    {.id = "github-fine-grained", .anchors = "github_pat_", .pattern = R"re(github_pat_[A-Za-z0-9_]{40,})re"},
    {.id = "gitlab-token",
     .anchors = "glpat- glptt- gldt- glrt- glcbt- glsoat- glagent- glft- glimt- gloas- GR1348941",
     .pattern = R"re((?:gl(?:pat|ptt|dt|rt|cbt|soat|agent|ft|imt|oas)-|GR1348941)[A-Za-z0-9_.-]{20,})re"},
    {.id = "npm-token", .anchors = "npm_", .pattern = R"re((npm_[A-Za-z0-9]{36})(?:[^A-Za-z0-9]|\z))re"},
    {.id = "npm-token",
     .anchors = "_authToken",
     .pattern = R"re(_authToken\s{0,4}=\s{0,4}["']?([A-Za-z0-9_+/=.-]{16,}))re",
     .left = Left::kAny},
    {.id = "pypi-token", .anchors = "pypi-", .pattern = R"re(pypi-AgE[A-Za-z0-9_-]{50,})re"},
    {.id = "rubygems-token", .anchors = "rubygems_", .pattern = R"re((rubygems_[0-9a-f]{48})(?:[^A-Za-z0-9]|\z))re"},
    {.id = "buildkite-token", .anchors = "bkua_", .pattern = R"re((bkua_[0-9a-f]{40})(?:[^A-Za-z0-9]|\z))re"},
    {.id = "circleci-token", .anchors = "CCIPAT_", .pattern = R"re(CCIPAT_[A-Za-z0-9]{20,24}_[0-9a-f]{40})re"},
    {.id = "artifactory-token",
     .anchors = "AKCp cmVmdGtu",
     .pattern = R"re(((?:AKCp[A-Za-z0-9]{69}|cmVmdGtu[A-Za-z0-9]{56}))(?:[^A-Za-z0-9]|\z))re"},
    {.id = "sonar-token", .anchors = "squ_ sqp_ sqa_", .pattern = R"re((sq[upa]_[0-9a-f]{40})(?:[^A-Za-z0-9]|\z))re"},
    {.id = "docker-token", .anchors = "dckr_pat_ dckr_oat_", .pattern = R"re(dckr_[po]at_[A-Za-z0-9_-]{20,})re"},
    {.id = "atlassian-token", .anchors = "ATATT3 ATCTT3", .pattern = R"re(AT[AC]TT3[A-Za-z0-9_=-]{50,})re"},
    {.id = "postman-key", .anchors = "PMAK-", .pattern = R"re(PMAK-[0-9a-f]{24}-[0-9a-f]{34})re"},

    // ---- models, and agentd itself (core/serve/tokens.h)
    {.id = "agentd-token", .anchors = "agentd_", .pattern = R"re((agentd_[0-9a-f]{64})(?:[^A-Za-z0-9]|\z))re"},
    {.id = "anthropic-key", .anchors = "sk-ant-", .pattern = R"re(sk-ant-[A-Za-z0-9_-]{20,})re"},
    {.id = "openai-key", .anchors = "sk-", .pattern = R"re(sk-(?:proj|svcacct|admin|None|or-v1)-[A-Za-z0-9_-]{20,})re"},
    {.id = "openai-key",
     .anchors = "sk-",
     .pattern = R"re((sk-[A-Za-z0-9]{32,})(?:[^A-Za-z0-9_-]|\z))re",
     .check = Check::kMixed},
    {.id = "huggingface-token",
     .anchors = "hf_",
     .pattern = R"re((hf_[A-Za-z0-9]{34,})(?:[^A-Za-z0-9_]|\z))re",
     .check = Check::kMixed},
    {.id = "langsmith-key",
     .anchors = "lsv2_pt_ lsv2_sk_",
     .pattern = R"re((lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10})(?:[^A-Za-z0-9]|\z))re"},
    {.id = "model-key",
     .anchors = "gsk_ xai- pplx- r8_",
     .pattern = R"re(((?:gsk_[A-Za-z0-9]{48,}|xai-[A-Za-z0-9]{60,}|pplx-[A-Za-z0-9]{40,}|)re"
                R"re(r8_[A-Za-z0-9]{37,}))(?:[^A-Za-z0-9_]|\z))re",
     .check = Check::kMixed},

    // ---- messages
    {.id = "slack-token",
     .anchors = "xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-",
     .pattern = R"re((?:xox[abcdeoprs]|xapp)-[A-Za-z0-9%-]{10,})re",
     .check = Check::kMixed},
    {.id = "slack-webhook",
     .anchors = "hooks.slack.com/",
     .pattern = R"re(hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/_-]{20,}))re"},
    {.id = "telegram-token",
     .anchors = ":AA",
     .pattern = R"re(:(AA[A-Za-z0-9_-]{33})(?:[^A-Za-z0-9_-]|\z))re",
     .left = Left::kDigit},
    {.id = "discord-token",
     // The base64 of the first digits of a user's number.
     .anchors = "MTA MTE MTI MTM MTQ MTU MTY MTc MTg MTk MjA MjE MjI MjM MjQ MjU MjY Mjc Mjg Mjk "
                "MzA MzE MzI MzM MzQ MzU MzY Mzc Mzg Mzk NDA NDE NDI NDM NDQ NDU NDY NDc NDg NDk "
                "NTA NTE NTI NTM NTQ NTU NTY NTc NTg NTk NjA NjE NjI NjM NjQ NjU NjY Njc Njg Njk "
                "NzA NzE NzI NzM NzQ NzU NzY Nzc Nzg Nzk ODA ODE ODI ODM ODQ ODU ODY ODc ODg ODk "
                "OTA OTE OTI OTM OTQ OTU OTY OTc OTg OTk",
     .pattern = R"re([MNO][A-Za-z0-9]{22,27}\.[A-Za-z0-9_-]{6,7}\.[A-Za-z0-9_-]{27,})re"},
    {.id = "discord-webhook",
     .anchors = "/api/webhooks/",
     .pattern = R"re(/api/webhooks/\d{15,21}/([A-Za-z0-9_-]{60,}))re",
     .left = Left::kAny},
    {.id = "sendgrid-key", .anchors = "SG.", .pattern = R"re(SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,})re"},
    {.id = "brevo-key", .anchors = "xkeysib-", .pattern = R"re(xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16})re"},
    {.id = "mailgun-key", .anchors = "key-", .pattern = R"re((key-[0-9a-f]{32})(?:[^A-Za-z0-9_-]|\z))re"},
    {.id = "mailgun-key",
     .anchors = "mailgun",
     .pattern = R"re(mailgun)re" AGENTD_ASSIGN R"re(([0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}))re",
     .left = Left::kAny,
     .any_case = true,
     .assigned = true},
    {.id = "twilio-key",
     .anchors = "SK0 SK1 SK2 SK3 SK4 SK5 SK6 SK7 SK8 SK9 SKa SKb SKc SKd SKe SKf",
     .pattern = R"re((SK[0-9a-f]{32})(?:[^A-Za-z0-9]|\z))re"},
    {.id = "twilio-key",
     .anchors = "twilio",
     .pattern = R"re(twilio)re" AGENTD_ASSIGN R"re(([0-9a-f]{32})(?:[^A-Za-z0-9]|\z))re",
     .left = Left::kAny,
     .any_case = true,
     .assigned = true},

    // ---- money and shops
    {.id = "stripe-key",
     .anchors = "sk_live_ sk_test_ rk_live_ rk_test_ whsec_",
     .pattern = R"re((?:[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{24,}))re",
     .check = Check::kMixed},
    {.id = "shopify-token",
     .anchors = "shpat_ shpca_ shppa_ shpss_",
     .pattern = R"re((shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32})(?:[^A-Za-z0-9]|\z))re"},
    {.id = "square-token",
     .anchors = "sq0atp- sq0csp- EAAA",
     .pattern = R"re(((?:sq0atp-[A-Za-z0-9_-]{22}|sq0csp-[A-Za-z0-9_-]{43}|EAAA[A-Za-z0-9_-]{60}))re"
                R"re()(?:[^A-Za-z0-9_-]|\z))re",
     .check = Check::kMixed},

    // ---- watching and planning
    {.id = "grafana-token",
     .anchors = "glsa_ glc_",
     .pattern = R"re((?:glsa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8}|glc_[A-Za-z0-9+/=]{40,}))re"},
    {.id = "sentry-token",
     .anchors = "sntrys_ sntryu_",
     .pattern = R"re((?:sntrys_[A-Za-z0-9+/=_]{40,}|sntryu_[0-9a-f]{64}))re"},
    {.id = "dynatrace-token",
     .anchors = "dt0c01. dt0s01. dt0s16.",
     .pattern = R"re(dt0[cs](?:01|16)\.[A-Z0-9]{8,24}\.[A-Z0-9]{64})re"},
    {.id = "new-relic-key", .anchors = "NRAK-", .pattern = R"re((NRAK-[A-Z0-9]{27})(?:[^A-Za-z0-9]|\z))re"},
    {.id = "linear-key", .anchors = "lin_api_", .pattern = R"re(lin_api_[A-Za-z0-9]{40})re"},
    {.id = "notion-token", .anchors = "ntn_", .pattern = R"re(ntn_[A-Za-z0-9]{40,})re"},
    {.id = "figma-token", .anchors = "figd_", .pattern = R"re(figd_[A-Za-z0-9_-]{36,})re"},
    {.id = "doppler-token",
     .anchors = "dp.pt. dp.st. dp.ct.",
     .pattern = R"re(dp\.[psc]t\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44})re"},
    {.id = "pulumi-token", .anchors = "pul-", .pattern = R"re((pul-[0-9a-f]{40})(?:[^A-Za-z0-9]|\z))re"},
    {.id = "planetscale-token",
     .anchors = "pscale_tkn_ pscale_pw_ pscale_oauth_",
     .pattern = R"re(pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{30,})re"},

    // ---- by place
    {.id = "jwt",
     .anchors = "eyJ",
     .pattern = R"re(eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]*){1,3})re",
     .left = Left::kNoToken,
     .spans = true},
    {.id = "connection-string",
     .anchors = "postgres:// postgresql:// mysql:// mariadb:// mongodb:// mongodb+srv:// redis:// "
                "rediss:// amqp:// amqps:// sqlserver:// mssql:// clickhouse:// cockroachdb:// nats://",
     .pattern = R"re([a-z+]{4,12}://[^\s/?#"'`<>@:]*:([^\s/"'`]{1,200})@)re",
     .left = Left::kNoWord,
     .check = Check::kPassword},
    {.id = "url-password",
     .anchors = "://",
     .pattern = R"re(://[^\s/?#"'`<>@:\[\]]{0,100}:([^\s/?#"'`<>]{1,200})@)re",
     .left = Left::kAny,
     .check = Check::kPassword,
     .generic = true},
    {.id = "bearer-token",
     .anchors = "authorization",
     .pattern = R"re(authorization\\*["']?\]?\s{0,4}[:=,]\s{0,4}\\*["']?)re"
                R"re((?:bearer|token|bot|apikey|api-key|key)\s{1,4}([A-Za-z0-9._~+/=-]{12,}))re",
     .left = Left::kAny,
     .check = Check::kPassword,
     .any_case = true,
     .assigned = true,
     .generic = true},
    {.id = "bearer-token",
     .anchors = "bearer",
     .pattern = R"re(bearer\s{1,4}([A-Za-z0-9._~+/=-]{20,}))re",
     .check = Check::kMixed,
     .any_case = true,
     .generic = true},
    {.id = "basic-auth",
     .anchors = "authorization",
     .pattern = R"re(authorization\\*["']?\]?\s{0,4}[:=,]\s{0,4}\\*["']?)re"
                R"re(basic\s{1,4}([A-Za-z0-9+/_-]{8,}={0,2}))re",
     .left = Left::kAny,
     .any_case = true,
     .assigned = true,
     .generic = true},
    {.id = "client-secret",
     .anchors = "client_secret client-secret clientsecret",
     .pattern = R"re(client[_-]?secret)re" AGENTD_ASSIGN R"re(([A-Za-z0-9_~.+/=-]{16,}))re",
     .left = Left::kAny,
     .check = Check::kValue,
     .any_case = true,
     .assigned = true,
     .generic = true},
#define AGENTD_NAMES                                                                          \
  "password passwd passphrase _pwd secret token api_key apikey api-key access_key accesskey " \
  "access-key private_key auth_key credential"
    // "…" and '…'
    {.id = "generic-secret",
     .anchors = AGENTD_NAMES,
     .pattern = R"re([\w-]{3,20}[\w.-]{0,30}\\*["']?\]?\s{0,8}(?:=>|:=|===?|[=:,])\s{0,8})re"
                R"re((?:\\*"([^"\s\\]{8,256})\\*"|\\*'([^'\s\\]{8,256})\\*'|`([^`\s\\]{8,256})`))re",
     .left = Left::kAny,
     .check = Check::kValue,
     .any_case = true,
     .assigned = true,
     .generic = true},
    // NAME=value of a shell or an .env file, a query or a form.
    {.id = "generic-secret",
     .anchors = AGENTD_NAMES,
     .pattern = R"re([\w-]{3,20}[\w.-]{0,30}=([A-Za-z0-9_+/=.~!@#%^*-]{8,256}))re" AGENTD_END,
     .left = Left::kAny,
     .check = Check::kValue,
     .any_case = true,
     .assigned = true,
     .generic = true},
    // name: value, of YAML, ini, a header or a log.
    {.id = "generic-secret",
     .anchors = AGENTD_NAMES,
     .pattern = R"re([\w-]{3,20}[\w.-]{0,30}\s{0,8}(?::\s{1,8}|\s=\s{1,8}))re"
                R"re(([A-Za-z0-9_+/=.~!@#%^*-]{8,256}))re" AGENTD_END,
     .left = Left::kAny,
     .check = Check::kValue,
     .any_case = true,
     .assigned = true,
     .generic = true},
#undef AGENTD_NAMES
};

}  // namespace

std::span<const ScrubRuleSpec> scrub_rules() { return kRules; }

}  // namespace agentd
