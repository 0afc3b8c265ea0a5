// A ring of tiles of 4 or 8 bits that lanes fill for themselves, where a block's bulk copies would be many and small.
#pragma once
#include "kernels/linear/tile.cuh"

namespace hone::cuda {

// A warp's own ring of STAGES tiles of SIZE bytes at most in shared memory. A lane copies the 16 bytes of each half (of each quarter at 8
// bits) that it will unpack, so only scales and minimums, which all read, need the other lanes. Copies are told by counting: each pass()
// ends those of one tile.
template <int STAGES, int SIZE>
struct LaneRing {
  uint8_t* at;  // this lane's place in the first stage
  int lane, head = 0, tail = 0;

  __device__ __forceinline__ LaneRing(uint8_t* data, int lane_) : at(data + lane_ * 16), lane(lane_) {}

  // from: this lane's first 16 bytes of a tile of BYTES, CODES of which are codes. Before it all lanes have read what the stage held.
  template <int CODES, int BYTES>
  __device__ __forceinline__ void fetch(const uint8_t* from) {
    uint8_t* to = at + head;
#pragma unroll
    for (int i = 0; i < CODES; i += 512) copy_16(to + i, from + i);
    if (lane * 16 < BYTES - CODES) copy_16(to + CODES, from + CODES);
  }
  __device__ __forceinline__ void pass() {
    copy_commit();
    if ((head += SIZE) == STAGES * SIZE) head = 0;
  }
  // The oldest tile, once at most `pending` passes after it are under way.
  __device__ __forceinline__ const uint8_t* wait(int pending) const {
    copy_wait(pending);
    __syncwarp();
    return at - lane * 16 + tail;
  }
  __device__ __forceinline__ void step() {
    if ((tail += SIZE) == STAGES * SIZE) tail = 0;
  }
};

}  // namespace hone::cuda
