// SPDX-License-Identifier: Apache-2.0
#include "core/serve/clients.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace agentd::serve {

std::shared_ptr<ClientLink> Clients::add(ClientWishes wishes) {
  const MutexLock lock(mutex_);
  auto link = std::make_shared<ClientLink>(clock_, ids_.next().text(), std::move(wishes));
  clients_[link->id()].link = link;
  return link;
}

Clients::Client Clients::find(std::string_view id) const {
  const MutexLock lock(mutex_);
  const auto found = clients_.find(id);
  return found == clients_.end() ? Client() : found->second;
}

void Clients::opened(const std::shared_ptr<ClientLink>& link, std::shared_ptr<LiveSession> session) {
  {
    const MutexLock lock(mutex_);
    if (const auto found = clients_.find(link->id()); found != clients_.end()) {
      found->second.session = std::move(session);
      return;
    }
  }
  session->release(link, "interrupted", {});
}

bool Clients::is_of_another(const LiveSession& session, const ClientLink& link) const {
  const MutexLock lock(mutex_);
  return std::any_of(clients_.begin(), clients_.end(), [&](const auto& each) {
    const Client& client = each.second;
    return client.session.get() == &session && client.link.get() != &link && !client.link->has_left();
  });
}

void Clients::remove(std::string_view id) {
  Client client;  // destroyed without the lock
  const MutexLock lock(mutex_);
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  client = std::move(found->second);
  clients_.erase(found);
}

void Clients::gone(const std::string& id) {
  Client client;
  {
    const MutexLock lock(mutex_);
    const auto found = clients_.find(id);
    if (found == clients_.end()) return;
    client = std::move(found->second);
    clients_.erase(found);
  }
  client.link->leave();
  if (client.session && !client.link->wishes().detached) {
    client.session->cancel_of(*client.link);
    client.session->release(client.link, "interrupted", {});
  }
}

void Clients::end_all() {
  std::map<std::string, Client, std::less<>> ended;  // destroyed without the lock: a session waits for its jobs
  {
    const MutexLock lock(mutex_);
    ended.swap(clients_);
  }
  for (const auto& [id, client] : ended) client.link->cancel_call();
  for (auto& [id, client] : ended) {
    client.session.reset();
    client.link->close();
  }
}

void Clients::tidy() {
  std::vector<std::shared_ptr<ClientLink>> links;
  {
    const MutexLock lock(mutex_);
    for (const auto& [id, client] : clients_) links.push_back(client.link);
  }
  for (const auto& link : links) link->keep_alive();
}

}  // namespace agentd::serve
