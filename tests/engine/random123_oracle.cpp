// Prints, in binary, what Random123 computes from a key and a run of counters:
//   random123_oracle key0 key1 counter0 counter1 counter2 counter3 blocks
// For each block: 4 words, u01<float> of each, uneg11<float> of each, and the four normals of
// boxmuller on words (0, 1) and (2, 3).
#include <Random123/boxmuller.hpp>
#include <Random123/philox.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

int main(int argc, char **argv) {
    if (argc != 8) return 2;
    uint32_t words[6];
    for (int i = 0; i < 6; ++i) words[i] = uint32_t(std::strtoul(argv[i + 1], nullptr, 10));
    r123::Philox4x32::key_type key = {{words[0], words[1]}};
    r123::Philox4x32::ctr_type counter = {{words[2], words[3], words[4], words[5]}};
    r123::Philox4x32 generate;
    for (unsigned long n = std::strtoul(argv[7], nullptr, 10); n > 0; --n, counter.incr()) {
        r123::Philox4x32::ctr_type block = generate(counter, key);
        float numbers[12];
        for (int i = 0; i < 4; ++i) {
            numbers[i] = r123::u01<float>(block[i]);
            numbers[4 + i] = r123::uneg11<float>(block[i]);
        }
        for (int i = 0; i < 2; ++i) {
            r123::float2 pair = r123::boxmuller(block[2 * i], block[2 * i + 1]);
            numbers[8 + 2 * i] = pair.x;
            numbers[9 + 2 * i] = pair.y;
        }
        std::fwrite(&block[0], sizeof(uint32_t), 4, stdout);
        std::fwrite(numbers, sizeof(float), 12, stdout);
    }
    return 0;
}
