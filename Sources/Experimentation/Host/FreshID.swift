#if os(Linux)
    import Foundation
    import Synchronization
#endif

/// Generates new ids.
@usableFromInline enum FreshID {
    /// A random UUID in its written form.
    ///
    /// Foundation opens and closes the system's random source for each UUID, which on Linux costs as much as storing an
    /// event.
    @usableFromInline static func make() -> String {
        #if os(Linux)
            if let (high, low) = reserve.withLock({ $0.next() }) { return text(high, low) }
        #endif
        var chance = SystemRandomNumberGenerator()
        return text(chance.next(), chance.next())
    }

    /// Formats 128 bits as a UUID, with version 4 and the variant of RFC 9562 set.
    static func text(_ high: UInt64, _ low: UInt64) -> String {
        let high = high & 0xFFFF_FFFF_FFFF_0FFF | 0x4000
        let low = low & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
        return String(unsafeUninitializedCapacity: 36) { bytes in
            var place = 0
            for (number, half) in [high, low].enumerated() {
                for digit in 0..<16 {
                    let index = number * 16 + digit
                    if index == 8 || index == 12 || index == 16 || index == 20 {
                        bytes[place] = 0x2D
                        place += 1
                    }
                    let value = UInt8(truncatingIfNeeded: half >> UInt64(60 - digit * 4)) & 0xF
                    bytes[place] = value < 10 ? 0x30 + value : 0x37 + value
                    place += 1
                }
            }
            return place
        }
    }

    #if os(Linux)
        private static let reserve = Mutex(RandomReserve())
    #endif
}

#if os(Linux)
    /// Random numbers from the system, read for sixteen ids at once: the call takes as long as all the rest of making
    /// one.
    private struct RandomReserve {
        private var numbers = [UInt64](repeating: 0, count: 32)
        private var left = 0

        /// Returns 128 random bits; `nil` if the system has none.
        mutating func next() -> (UInt64, UInt64)? {
            if left == 0 {
                // 256 bytes, the most that one call returns.
                let isFilled = numbers.withUnsafeMutableBytes { bytes in
                    bytes.baseAddress.map { getentropy($0, bytes.count) } == 0
                }
                if !isFilled { return nil }
                left = numbers.count
            }
            left -= 2
            return (numbers[left], numbers[left + 1])
        }
    }
#endif
