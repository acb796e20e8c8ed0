import BenchmarkCounting
import Foundation

/// What one thing costs.
public struct Cost: Sendable {
    /// Nanoseconds for one operation, the median of the rounds.
    public var nanoseconds: Double
    /// Allocations for one operation.
    public var allocations: Double

    /// Measures an operation: several rounds, of which the median counts.
    ///
    /// - Parameters:
    ///   - count: How many operations a round has.
    ///   - rounds: How many rounds there are, after one that isn't counted.
    ///   - body: Does that many operations.
    /// - Returns: What one operation costs.
    public static func of(_ count: Int, rounds: Int = 9, _ body: (Int) -> Void) -> Cost {
        body(count)
        var times: [Double] = []
        let before = benchmark_allocations()
        for _ in 0..<rounds {
            let start = ContinuousClock.now
            body(count)
            times.append((ContinuousClock.now - start).nanoseconds / Double(count))
        }
        // The array of times itself allocates now and then; a few of them don't make a figure.
        let allocations = Double(benchmark_allocations() - before - min(benchmark_allocations() - before, 8))
        return Cost(nanoseconds: times.sorted()[rounds / 2], allocations: allocations / Double(count * rounds))
    }
}

/// The number of bytes that were asked for while something was made.
public func allocatedBytes(_ body: () -> Void) -> Int {
    let before = benchmark_allocated_bytes()
    body()
    return Int(benchmark_allocated_bytes() - before)
}

/// The number of bytes that are in use, by any thread.
public func liveBytes() -> Int { Int(benchmark_live_bytes()) }

/// The seconds of processor time of all children that have ended.
public func childrenSeconds() -> Double { benchmark_children_seconds() }

/// The seconds of processor time of this process.
public func ownSeconds() -> Double { benchmark_own_seconds() }

/// Keeps the optimiser from seeing that a value isn't used.
@inline(never)
@_optimize(none)
public func consume<Value>(_ value: Value) {}

extension Duration {
    /// The same in nanoseconds.
    public var nanoseconds: Double { Double(components.seconds) * 1e9 + Double(components.attoseconds) / 1e9 }
}

/// Prints figures beside their bars, and remembers whether all were met.
public struct Table: Sendable {
    private var missed = 0

    /// Creates a table and prints its head.
    public init(_ title: String) {
        print("\n\(title)")
        print("  " + Self.row("", "measured", "bar", ""))
    }

    private static func row(_ name: String, _ value: String, _ bar: String, _ verdict: String) -> String {
        name.padding(toLength: 58, withPad: " ", startingAt: 0)
            + String(repeating: " ", count: max(0, 14 - value.count))
            + value + String(repeating: " ", count: max(0, 14 - bar.count)) + bar + "  " + verdict
    }

    /// Adds a figure that must not be above its bar.
    public mutating func add(_ name: String, _ value: Double, atMost bar: Double, unit: String) {
        add(name, value, bar: "≤ \(Self.short(bar)) \(unit)", isMet: value <= bar, unit: unit)
    }

    /// Adds a figure that must not be below its bar.
    public mutating func add(_ name: String, _ value: Double, atLeast bar: Double, unit: String) {
        add(name, value, bar: "≥ \(Self.short(bar)) \(unit)", isMet: value >= bar, unit: unit)
    }

    /// Adds a figure without a bar.
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

    /// How many bars were missed.
    public var missedBars: Int { missed }
}
