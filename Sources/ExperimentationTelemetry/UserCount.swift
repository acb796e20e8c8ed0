/// Estimates the number of distinct users in less than two kilobytes.
///
/// HyperLogLog by Flajolet and others (2007), with four-bit registers over a common base and the martingale estimator
/// of Cohen and of Ting (both 2014). The standard error is 0.83 / √3776, or 1.35 %, at any size. Counts of several
/// processes can't be merged.
struct UserCount: Sendable {
    /// The number of registers.
    static let registers = 3_776

    /// Two registers a byte, relative to the base; 15 means that the value is in `high`.
    private var halves: [UInt8]
    private var base: UInt8 = 0
    /// The number of registers that equal the base.
    private var lowest = UserCount.registers
    /// The two or three registers that don't fit into four bits.
    private var high: [(register: UInt16, value: UInt8)] = []
    /// The probability that the next new user changes a register.
    private var chance = 1.0
    private var sum = 0.0

    init() { halves = [UInt8](repeating: 0, count: Self.registers / 2) }

    /// The estimated number of users.
    var estimate: Double { sum }

    /// The size in memory, in bytes.
    var bytes: Int {
        MemoryLayout<Self>.size + halves.capacity + high.capacity * MemoryLayout<(UInt16, UInt8)>.stride + 64
    }

    /// The registers, for tests.
    var values: [UInt8] { (0..<Self.registers).map { value(of: $0) } }

    /// Adds a user; has no effect if the user was added before.
    mutating func insert(_ user: UInt64) {
        let register = Int(((user >> 32) * UInt64(Self.registers)) >> 32)
        let value = UInt8(UInt32(truncatingIfNeeded: user).leadingZeroBitCount + 1)
        guard value > base else { return }
        let old = self.value(of: register)
        guard value > old else { return }
        sum += 1 / chance
        chance -= (Self.share(old) - Self.share(value)) / Double(Self.registers)
        set(register, to: value, from: old)
        while lowest == 0 { raiseBase() }
    }

    private static func share(_ value: UInt8) -> Double { 1 / Double(UInt64(1) << value) }

    private func value(of register: Int) -> UInt8 {
        let half = self.half(register)
        return half < 15 ? base + half : high.first { $0.register == register }?.value ?? base + 15
    }

    private func half(_ register: Int) -> UInt8 {
        let byte = halves[register >> 1]
        return register & 1 == 0 ? byte & 15 : byte >> 4
    }

    private mutating func setHalf(_ register: Int, _ half: UInt8) {
        let byte = halves[register >> 1]
        halves[register >> 1] = register & 1 == 0 ? byte & 0xf0 | half : byte & 15 | half << 4
    }

    private mutating func set(_ register: Int, to value: UInt8, from old: UInt8) {
        if old == base { lowest -= 1 }
        if value - base < 15 { return setHalf(register, value - base) }
        setHalf(register, 15)
        high.removeAll { $0.register == register }
        high.append((UInt16(register), value))
    }

    private mutating func raiseBase() {
        base += 1
        lowest = 0
        for register in 0..<Self.registers {
            let half = half(register)
            if half < 15 {
                setHalf(register, half - 1)
                if half == 1 { lowest += 1 }
            } else if let place = high.firstIndex(where: { $0.register == register }), high[place].value - base < 15 {
                setHalf(register, high[place].value - base)
                high.remove(at: place)
            }
        }
    }
}

extension UserCount {
    /// Hashes an id: FNV-1a, then the finalizer of MurmurHash3.
    static func number(of id: String) -> UInt64 {
        var id = id
        return id.withUTF8 { bytes in
            var hash: UInt64 = 0xcbf2_9ce4_8422_2325
            for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
            hash = (hash ^ hash >> 33) &* 0xff51_afd7_ed55_8ccd
            hash = (hash ^ hash >> 33) &* 0xc4ce_b9fe_1a85_ec53
            return hash ^ hash >> 33
        }
    }
}
