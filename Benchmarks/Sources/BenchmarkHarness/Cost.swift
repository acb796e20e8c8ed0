import BenchmarkCounting
import Foundation

/// The cost of an operation.
public struct Cost: Sendable {
    /// Nanoseconds per operation, the median of the rounds.
    public var nanoseconds: Double
    /// Allocations per operation.
    public var allocations: Double

    /// Measures an operation in several rounds.
    ///
    /// - Parameters:
    ///   - count: The number of operations in a round.
    ///   - rounds: The number of rounds, after a warm-up round.
    ///   - body: Performs that many operations.
    /// - Returns: The cost of one operation.
    public static func of(_ count: Int, rounds: Int = 9, _ body: (Int) -> Void) -> Cost {
        body(count)
        var times: [Double] = []
        let before = benchmark_allocations()
        for _ in 0..<rounds {
            let start = ContinuousClock.now
            body(count)
            times.append((ContinuousClock.now - start).nanoseconds / Double(count))
        }
        // The array of times itself causes a few allocations, which are subtracted.
        let allocations = Double(benchmark_allocations() - before - min(benchmark_allocations() - before, 8))
        return Cost(nanoseconds: times.sorted()[rounds / 2], allocations: allocations / Double(count * rounds))
    }
}

/// Returns the number of bytes allocated by a closure.
public func allocatedBytes(_ body: () -> Void) -> Int {
    let before = benchmark_allocated_bytes()
    body()
    return Int(benchmark_allocated_bytes() - before)
}

/// Returns the number of bytes in use by all threads.
public func liveBytes() -> Int { Int(benchmark_live_bytes()) }

/// Returns the processor time of all ended child processes, in seconds.
public func childrenSeconds() -> Double { benchmark_children_seconds() }

/// Returns the processor time of this process, in seconds.
public func ownSeconds() -> Double { benchmark_own_seconds() }

/// Returns the nearest-rank percentile: the least figure that at least so many percent of the figures don't exceed.
public func percentile(_ percent: Int, of figures: [Double]) -> Double {
    figures.sorted()[(figures.count * percent + 99) / 100 - 1]
}

/// Keeps the optimizer from removing an unused value.
@inline(never)
@_optimize(none)
public func consume<Value>(_ value: Value) {}

extension Duration {
    /// The duration in nanoseconds.
    public var nanoseconds: Double { Double(components.seconds) * 1e9 + Double(components.attoseconds) / 1e9 }
}

/// Prints figures with their limits, and counts those out of limit.
public struct Table: Sendable {
    private var missed = 0

    /// Creates a table and prints its header.
    public init(_ title: String) {
        print("\n\(title)")
        print("  " + Self.row("", "measured", "bar", ""))
    }

    private static func row(_ name: String, _ value: String, _ bar: String, _ verdict: String) -> String {
        name.padding(toLength: 58, withPad: " ", startingAt: 0)
            + String(repeating: " ", count: max(0, 14 - value.count))
            + value + String(repeating: " ", count: max(0, 14 - bar.count)) + bar + "  " + verdict
    }

    /// Adds a figure with an upper limit.
    public mutating func add(_ name: String, _ value: Double, atMost bar: Double, unit: String) {
        add(name, value, bar: "≤ \(Self.short(bar)) \(unit)", isMet: value <= bar, unit: unit)
    }

    /// Adds a figure with a lower limit.
    public mutating func add(_ name: String, _ value: Double, atLeast bar: Double, unit: String) {
        add(name, value, bar: "≥ \(Self.short(bar)) \(unit)", isMet: value >= bar, unit: unit)
    }

    /// Adds a figure without a limit.
    public mutating func add(_ name: String, _ value: Double, unit: String) {
        print("  " + Self.row(name, "\(Self.short(value)) \(unit)", "", ""))
    }

    private mutating func add(_ name: String, _ value: Double, bar: String, isMet: Bool, unit: String) {
        if !isMet { missed += 1 }
        print("  " + Self.row(name, "\(Self.short(value)) \(unit)", bar, isMet ? "met" : "MISSED"))
    }

    private static func short(_ value: Double) -> String {
        value >= 100 || value == value.rounded() ? String(Int(value.rounded())) : String(format: "%.2f", value)
    }

    /// The number of missed limits.
    public var missedBars: Int { missed }
}
