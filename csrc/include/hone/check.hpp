// Argument checks at the border: each failure names the argument, what came and what was wanted.
#pragma once
#include <string>

#include "hone/program.hpp"

namespace hone {

[[noreturn]] void reject(const std::string& name, const std::string& got, const std::string& wanted);
void check_op(const Program& program, const Op& op);
void check_batch(const Program& program, const Batch& batch, int64_t vocab, int64_t cache_pages, int page_size);
void check_cache(const KvCache& cache);

}  // namespace hone
