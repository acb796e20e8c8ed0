import Experimentation
import Foundation

/// A member of a vendor's JSON object and the property that it stands for, described once for reading and for writing.
///
/// ```swift
/// let members: [JSONMember<Offer>] = [.text("title", \.title), .number("price", \.price), .date("ends", \.end)]
/// members.read(object, into: &offer)
/// let object = members.write(offer, &notes)
/// ```
///
/// A property without a value has no member. A value that the vendor wouldn't take has none either, and is noted.
package struct JSONMember<Root>: Sendable {
    /// The member's name.
    package let name: String
    fileprivate let read: @Sendable (FlagValue, inout Root) -> Bool
    fileprivate let write: @Sendable (Root, inout [WireNote]) -> FlagValue?

    /// Describes the member of a property that may have no value.
    ///
    /// - Parameters:
    ///   - name: The member's name.
    ///   - property: The property.
    ///   - read: Returns the property's value; `nil` for a member that can't be read.
    ///   - write: Returns the member's value; `nil` leaves the member out.
    package init<Value>(
        _ name: String,
        _ property: any WritableKeyPath<Root, Value?> & Sendable,
        read: @escaping @Sendable (FlagValue) -> Value?,
        write: @escaping @Sendable (Value, inout [WireNote]) -> FlagValue?
    ) {
        self.name = name
        self.read = { member, root in
            guard let value = read(member) else { return false }
            root[keyPath: property] = value
            return true
        }
        self.write = { root, notes in root[keyPath: property].flatMap { write($0, &notes) } }
    }

    /// Describes the member of a property that always has a value; one value is expressed by leaving the member out.
    ///
    /// - Parameters:
    ///   - name: The member's name.
    ///   - property: The property.
    ///   - unsaid: The value for which there is no member.
    ///   - read: Returns the property's value; `nil` for a member that can't be read.
    ///   - write: Returns the member's value; `nil` leaves the member out.
    package init<Value: Equatable & Sendable>(
        _ name: String,
        _ property: any WritableKeyPath<Root, Value> & Sendable,
        unless unsaid: Value,
        read: @escaping @Sendable (FlagValue) -> Value?,
        write: @escaping @Sendable (Value, inout [WireNote]) -> FlagValue?
    ) {
        self.name = name
        self.read = { member, root in
            guard let value = read(member) else { return false }
            root[keyPath: property] = value
            return true
        }
        self.write = { root, notes in
            let value = root[keyPath: property]
            if value == unsaid { return nil }
            return write(value, &notes)
        }
    }
}

extension Sequence {
    /// Sets the properties whose members are present and can be read; the others keep their values.
    ///
    /// - Returns: The names of the members that were read.
    @discardableResult
    package func read<Root>(
        _ object: [String: FlagValue],
        into root: inout Root
    ) -> Set<String> where Element == JSONMember<Root> {
        var names: Set<String> = []
        for member in self {
            if let value = object[member.name], member.read(value, &root) { names.insert(member.name) }
        }
        return names
    }

    /// Returns the members of the properties that have a value, and notes the values that are left out.
    package func write<Root>(
        _ root: Root,
        _ notes: inout [WireNote]
    ) -> [String: FlagValue] where Element == JSONMember<Root> {
        var members: [String: FlagValue] = [:]
        for member in self { members[member.name] = member.write(root, &notes) }
        return members
    }

    /// Returns the members of the properties that have a value.
    package func write<Root>(_ root: Root) -> [String: FlagValue] where Element == JSONMember<Root> {
        var notes: [WireNote] = []
        return write(root, &notes)
    }
}

// MARK: - Common kinds

extension JSONMember {
    /// A text.
    package static func text(_ name: String, _ property: any WritableKeyPath<Root, String?> & Sendable) -> Self {
        Self(name, property, read: \.stringValue) { text, _ in .string(text) }
    }

    /// A Boolean.
    package static func bool(_ name: String, _ property: any WritableKeyPath<Root, Bool?> & Sendable) -> Self {
        Self(name, property, read: \.boolValue) { value, _ in .bool(value) }
    }

    /// A finite number, negative only if allowed; written as an integer where nothing is lost.
    package static func number(
        _ name: String,
        _ property: any WritableKeyPath<Root, Double?> & Sendable,
        mayBeNegative: Bool = false
    ) -> Self {
        Self(name, property, read: \.doubleValue) { number, notes in
            if number.isFinite, mayBeNegative || number >= 0 { return .number(number) }
            notes.append(.warning("\(name) is negative or not a number and was left out"))
            return nil
        }
    }

    /// Any number, always written as a floating-point number.
    package static func double(_ name: String, _ property: any WritableKeyPath<Root, Double?> & Sendable) -> Self {
        Self(name, property, read: \.doubleValue) { number, _ in .double(number) }
    }

    /// An integer, not below zero.
    package static func count(_ name: String, _ property: any WritableKeyPath<Root, Int?> & Sendable) -> Self {
        Self(name, property, read: \.intValue) { count, notes in
            if count >= 0 { return .int(count) }
            notes.append(.warning("\(name) is negative and was left out"))
            return nil
        }
    }

    /// One of several words.
    ///
    /// - Parameters:
    ///   - name: The member's name.
    ///   - property: The property.
    ///   - words: The word for each value.
    ///   - unsaid: The value for which there is no member.
    /// - Returns: The member.
    package static func choice<Value: Hashable & Sendable>(
        _ name: String,
        _ property: any WritableKeyPath<Root, Value> & Sendable,
        _ words: [Value: String],
        unless unsaid: Value
    ) -> Self {
        Self(
            name,
            property,
            unless: unsaid,
            read: { word in words.first { word == .string($0.value) }?.key },
            write: { value, _ in words[value].map(FlagValue.string) }
        )
    }

    /// A date, as whole milliseconds since 1970.
    ///
    /// - Parameters:
    ///   - name: The member's name.
    ///   - property: The property.
    ///   - mayBeISO8601: Whether it may also be read from ISO 8601, the form of a date as an attribute.
    /// - Returns: The member.
    package static func date(
        _ name: String,
        _ property: any WritableKeyPath<Root, Date?> & Sendable,
        mayBeISO8601: Bool = false
    ) -> Self {
        Self(name, property, read: { $0.epochMilliseconds ?? (mayBeISO8601 ? $0.iso8601 : nil) }) { date, _ in
            date.epochMilliseconds.map(FlagValue.int)
        }
    }
}
