import Synchronization

/// Generates ids in a realistic form that are the same in every run.
final class Counter: Sendable {
    private let count = Mutex<UInt32>(0)

    func nextID() -> String {
        let number = count.withLock { count in
            count &+= 1
            return count
        }
        let digits = String(number, radix: 16)
        return "00000000-0000-4000-8000-" + String(repeating: "0", count: max(0, 12 - digits.count)) + digits
    }
}
