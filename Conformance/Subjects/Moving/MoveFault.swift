import ConformanceKit
import Experimentation
import ExperimentationMigration

/// A fault at a vendor during a simulated move.
///
/// A scenario's fault (`{"operation":"events","fault":"status","status":503,"times":2}`) with the optional members
/// `"vendor"` (`"old"` or `"new"`; both if missing) and `"step"` (from 1; every step if missing).
public struct MoveFault: Sendable, Hashable {
    /// The fault.
    public var fault: WorldFault
    /// The vendor that it affects; both if `nil`.
    public var side: MigrationSide?
    /// The step that it affects, from 1; every step if `nil`.
    public var step: Int?

    /// Creates a fault.
    public init(_ fault: WorldFault, at side: MigrationSide? = nil, step: Int? = nil) {
        self.fault = fault
        self.side = side
        self.step = step
    }

    /// Parses a file of faults, `{"faults": […]}`, from JSON or YAML.
    ///
    /// - Parameters:
    ///   - document: The document.
    ///   - name: Its name, for errors.
    ///   - steps: The number of steps.
    /// - Returns: The faults; at least one.
    /// - Throws: What is wrong, and where.
    public static func all(
        in document: FlagValue,
        named name: String,
        steps: Int
    ) throws(DocumentError) -> [MoveFault] {
        var reader = try DocumentReader(document, named: name)
        let faults = try reader.each("faults") { (reader) throws(DocumentError) in
            var fault = MoveFault(try WorldFault(reading: &reader))
            if let text = try reader.optionalString("vendor") {
                guard let side = MigrationSide(rawValue: text) else {
                    throw reader.wrong("vendor", expected: "old or new")
                }
                fault.side = side
            }
            if reader.has("step") { fault.step = try reader.int("step", in: 1...max(steps, 1)) }
            return fault
        }
        try reader.finish()
        if faults.isEmpty { throw reader.error("faults", "expected at least one fault") }
        return faults
    }

    /// Whether it affects a vendor in a step, counted from 0.
    func befalls(_ side: MigrationSide, inStep step: Int) -> Bool {
        (self.side ?? side) == side && (self.step ?? step + 1) == step + 1
    }
}
