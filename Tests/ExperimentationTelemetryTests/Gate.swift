import Foundation

/// Blocks callers until it is opened, like an exporter that hangs.
final class Gate: @unchecked Sendable {
    private let condition = NSCondition()
    private var isOpen = false
    private var count = 0

    /// The number of callers so far.
    var comers: Int {
        condition.lock()
        defer { condition.unlock() }
        return count
    }

    func pass() {
        condition.lock()
        count += 1
        while !isOpen { condition.wait() }
        condition.unlock()
    }

    func open() {
        condition.lock()
        isOpen = true
        condition.broadcast()
        condition.unlock()
    }
}
