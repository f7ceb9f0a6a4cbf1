// SPDX-License-Identifier: Apache-2.0
#pragma once
// canaries.h - made-up secrets of every form that the rules know: generated, never real.
//
// A form is a text with places such as {a36}: 36 characters of a class. The secret is the text between « and », or all
// of it.
//
// Threading: Canaries is thread-compatible.

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace agentd::testing {

struct CanaryForm {
  std::string_view rule, form;
};

inline constexpr CanaryForm kCanaryForms[] = {
    {"aws-access-key", "AKIA{X16}"},
    {"aws-access-key", "ASIA{X16}"},
    {"aws-secret-key", "aws_secret_access_key = «{a39}+»"},
    {"aws-secret-key", R"("SecretAccessKey": "«{a20}/{a19}»")"},
    {"google-api-key", "AIza{w35}"},
    {"google-oauth", "GOCSPX-{w28}"},
    {"google-oauth", "ya29.{w60}"},
    {"azure-storage-key", "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=«{a86}==»;EndpointSuffix=x"},
    {"azure-storage-key", "Endpoint=sb://a.b/;SharedAccessKeyName=Root;SharedAccessKey=«{a43}=»"},
    {"azure-sas", "https://a.blob.core.windows.net/c?sv=2022&sp=r&sig=«{a20}%2B{a20}%3D»"},
    {"azure-client-secret", "{a3}8Q~{a34}"},
    {"digitalocean-token", "dop_v1_{h64}"},
    {"heroku-key", "HRKU-{h8}-{h4}-{h4}-{h4}-{h12}"},
    {"heroku-key", "HEROKU_API_KEY=«{h8}-{h4}-{h4}-{h4}-{h12}»"},
    {"vault-token", "hvs.{w90}"},
    {"vault-token", "export VAULT_TOKEN=«s.{a24}»"},
    {"terraform-token", "{a14}.atlasv1.{a60}"},
    {"cloudflare-key", "v1.0-{h24}-{h146}"},
    {"tailscale-key", "tskey-auth-{a12}-{a32}"},
    {"supabase-key", "sbp_{h40}"},
    {"supabase-key", "sb_secret_{w31}"},
    {"netlify-token", "nfp_{a36}"},
    {"fly-token", "FlyV1 «fm2_{b140}»"},
    {"buildkite-token", "bkua_{h40}"},
    {"circleci-token", "CCIPAT_{a22}_{h40}"},
    {"artifactory-token", "AKCp{a69}"},
    {"artifactory-token", "cmVmdGtu{a56}"},
    {"sonar-token", "squ_{h40}"},
    {"langsmith-key", "lsv2_pt_{h32}_{h10}"},
    {"brevo-key", "xkeysib-{h64}-{a16}"},
    {"dynatrace-token", "dt0c01.{X24}.{X64}"},
    {"databricks-token", "dapi{h32}"},
    {"github-token", "ghp_{a36}"},
    {"github-token", "gho_{a36}"},
    {"github-token", "ghs_{a36}"},
    {"github-fine-grained", "github_pat_{a22}_{a59}"},
    {"gitlab-token", "glpat-{w20}"},
    {"gitlab-token", "glrt-{w20}"},
    {"npm-token", "npm_{a36}"},
    {"npm-token", "//packages.example.org/:_authToken=«{h8}-{h4}-{h4}-{h4}-{h12}»"},
    {"pypi-token", "pypi-AgEI{w120}"},
    {"rubygems-token", "rubygems_{h48}"},
    {"docker-token", "dckr_pat_{w27}"},
    {"atlassian-token", "ATATT3{w180}"},
    {"postman-key", "PMAK-{h24}-{h34}"},
    {"agentd-token", "agentd_{h64}"},
    {"anthropic-key", "sk-ant-api03-{w93}AA"},
    {"openai-key", "sk-{a48}"},
    {"openai-key", "sk-proj-{w120}"},
    {"huggingface-token", "hf_{a34}"},
    {"model-key", "gsk_{a52}"},
    {"model-key", "xai-{a80}"},
    {"slack-token", "xoxb-{d12}-{d12}-{a24}"},
    {"slack-token", "xoxp-{d12}-{d12}-{d12}-{h32}"},
    {"slack-webhook", "https://hooks.slack.com/services/«T{X8}/B{X8}/{a24}»"},
    {"telegram-token", "{d9}:«AA{w33}»"},
    {"discord-token", "MTA{a21}.{a6}.{w38}"},
    {"discord-webhook", "https://discord.com/api/webhooks/{d18}/«{w68}»"},
    {"sendgrid-key", "SG.{w22}.{w43}"},
    {"mailgun-key", "key-{h32}"},
    {"mailgun-key", "MAILGUN_KEY: «{h32}-{h8}-{h8}»"},
    {"twilio-key", "SK{h32}"},
    {"twilio-key", "TWILIO_AUTH_TOKEN=«{h32}»"},
    {"stripe-key", "sk_live_{a24}"},
    {"stripe-key", "rk_test_{a24}"},
    {"stripe-key", "whsec_{a32}"},
    {"shopify-token", "shpat_{h32}"},
    {"square-token", "sq0atp-{w22}"},
    {"square-token", "EAAA{w60}"},
    {"grafana-token", "glsa_{a32}_{h8}"},
    {"sentry-token", "sntrys_{a80}"},
    {"new-relic-key", "NRAK-{X27}"},
    {"linear-key", "lin_api_{a40}"},
    {"notion-token", "ntn_{a46}"},
    {"figma-token", "figd_{w40}"},
    {"doppler-token", "dp.pt.{a43}"},
    {"pulumi-token", "pul-{h40}"},
    {"planetscale-token", "pscale_tkn_{w43}"},
    {"age-secret-key", "AGE-SECRET-KEY-1{X58}"},
    {"jwt", "eyJhbGciOiJIUzI1NiJ9.eyJ{w60}.{w43}"},
    {"connection-string", "postgres://app:«{a14}»@db.internal:5432/app"},
    {"connection-string", "mysql://root:«{a6}#{a6}»@127.0.0.1/shop"},
    {"connection-string", "mongodb+srv://u:«{a16}»@cluster0.x.mongodb.net/?w=majority"},
    {"connection-string", "redis://:«{a20}»@cache:6379/0"},
    {"connection-string", "amqp://guest:«{a10}@{a4}»@mq:5672/%2f"},
    {"url-password", "https://deploy:«{a18}»@git.internal/repo.git"},
    {"bearer-token", "Authorization: Bearer «{a40}»"},
    {"bearer-token", "curl -H 'authorization: bearer «{a24}.{a10}»'"},
    {"basic-auth", "Authorization: Basic «{a28}»"},
    {"client-secret", R"("client_secret": "«{a32}»")"},
    {"generic-secret", R"(password = "«{a12}7!»")"},
    {"generic-secret", "DB_PASSWORD=«{a16}3x»"},
    {"generic-secret", "db_passwd: «{a14}4-»"},
    {"generic-secret", R"(headers["x-api-key"] = '«{h32}»')"},
    {"generic-secret", R"({\"api_key\": \"«{a24}5»\"})"},
    {"generic-secret", "https://x.test/cb?access_token=«{a24}6»&state=1"},
    {"gcp-service-account", R"("private_key_id": "«{h40}»")"},
};

class Canaries {
 public:
  struct Made {
    std::string text, secret;
  };
  explicit Canaries(std::uint32_t seed) : random_(seed) {}

  Made make(std::string_view form) {
    Made out;
    bool inside = false, marked = false;
    while (!form.empty()) {
      if (form.starts_with("«") || form.starts_with("»")) {
        inside = form.starts_with("«");
        if (inside) out.secret.clear();
        marked = true;
        form.remove_prefix(2);
        continue;
      }
      std::string piece(form.substr(0, 1));
      std::size_t used = 1;
      const std::size_t close = form.find('}');
      if (form[0] == '{' && close != std::string_view::npos && close > 2 && form[2] >= '0' && form[2] <= '9') {
        piece = run(form[1], std::stoul(std::string(form.substr(2, close - 2))));
        used = close + 1;
      }
      out.text += piece;
      if (inside || !marked) out.secret += piece;
      form.remove_prefix(used);
    }
    return out;
  }

  // Lines of base64, as a key in a file has them.
  std::string key_lines(int lines, std::string_view end = "\n") {
    std::string out;
    for (int i = 0; i < lines; ++i) out += run('b', i + 1 == lines ? 44 : 64).append(end);
    return out;
  }

 private:
  std::string run(char kind, std::size_t length) {
    std::string_view from;
    switch (kind) {
      case 'X':
        from = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
        break;
      case 'h':
        from = "0123456789abcdef";
        break;
      case 'd':
        from = "123456789";
        break;
      case 'w':
        from = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
        break;
      case 'b':
        from = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        break;
      default:
        from = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        break;
    }
    std::string out;
    for (std::size_t i = 0; i < length; ++i) out += from[random_() % from.size()];
    // A real one has digits and letters, too.
    if (length >= 12 && kind != 'd') out[length / 2] = '4', out[length / 3] = kind == 'X' ? 'Q' : 'b';
    return out;
  }

  std::minstd_rand random_;
};

}  // namespace agentd::testing
