extension String {
    /// Whether the string is only white space, or empty.
    package var isBlank: Bool { allSatisfy(\.isWhitespace) }

    /// The string; `nil` if it is blank.
    package var unlessBlank: String? { isBlank ? nil : self }
}
