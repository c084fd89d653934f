// The two posteriors of topic models: topics and proportions integrated out, or with distributions of their own.
#pragma once

namespace topmix {

enum class Posterior { variational, collapsed };

}  // namespace topmix
