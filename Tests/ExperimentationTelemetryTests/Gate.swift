import Foundation

/// Blocks whoever passes, until it is opened: an exporter that hangs.
final class Gate: @unchecked Sendable {
    private let condition = NSCondition()
    private var isOpen = false
    private var count = 0

    /// How many have come to it.
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
